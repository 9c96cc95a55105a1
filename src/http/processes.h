// The processes that may be seen here, and the one that a request is about.
#pragma once

#include <vector>

#include "base/result.h"
#include "http/route.h"
#include "http/setting.h"
#include "model/process.h"

namespace clrscope::http {

class Processes {
 public:
  explicit Processes(const ServeSetting& setting) : setting_(setting) {}

  // Those that the administrator allows, by pid.
  Result<std::vector<Process>> list() const;
  // By ?pid=, ?uid= or ?name=; without any: the only one there is.
  Result<Process> chosen(const Call& call) const;
  bool allowed(const Process& process) const;

 private:
  const ServeSetting& setting_;
};

}  // namespace clrscope::http
