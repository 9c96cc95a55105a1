// Looks at the threads and locks of one process or core, one after the other. Inside ops only: see
// examine.h.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"

namespace clrscope::ops {

class Looker {
 public:
  static Result<Looker> at_process(pid_t pid);
  static Result<Looker> at_core(const std::string& path);

  enum class Detail { kThreads, kLines };  // kLines: source files and lines too, dearer
  Result<inspect::Snapshot> look(Detail detail);

 private:
  static Result<Looker> at(std::unique_ptr<inspect::Target> target);

  std::unique_ptr<inspect::Target> target_;
  std::unique_ptr<inspect::RuntimeReader> reader_;  // before its target goes
};

}  // namespace clrscope::ops
