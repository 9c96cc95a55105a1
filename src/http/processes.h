// The processes that may be seen here, and the one that a request is about.
//
// The only way to a process: the allow-list is kept here.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "http/route.h"
#include "http/setting.h"
#include "model/process.h"
#include "ops/target.h"

namespace clrscope::http {

class Processes {
 public:
  // `runtimes`: those that connect to us, or none.
  explicit Processes(const ServeSetting& setting, std::shared_ptr<ops::Runtimes> runtimes = {})
      : setting_(setting), runtimes_(std::move(runtimes)) {}

  // Those that the administrator allows, by pid.
  Result<std::vector<Process>> list() const;
  // By ?pid=, ?uid= or ?name=; without any: the only one there is.
  Result<Process> chosen(const Call& call) const;
  bool allowed(const Process& process) const;
  // How an operation reaches it: by its pid, or through the port that it connected to.
  ops::TargetWish target(const Process& process) const;

 private:
  const ServeSetting& setting_;
  std::shared_ptr<ops::Runtimes> runtimes_;
};

}  // namespace clrscope::http
