// Takes snapshots of the threads and locks of one process or core, one after the other. Used inside
// ops only: see examine.h.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"
#include "inspect/take_snapshot.h"

namespace clrscope::ops {

class SnapshotReader {
 public:
  static Result<SnapshotReader> of_process(pid_t pid);
  static Result<SnapshotReader> of_core(const std::string& path);

  enum class Detail { kThreads, kLines };  // kLines: source files and lines too, which costs more
  Result<inspect::Snapshot> take(Detail detail,
                                 inspect::StopPolicy stop = inspect::StopPolicy::kBriefly);

 private:
  static Result<SnapshotReader> at(std::unique_ptr<inspect::Target> target);

  std::unique_ptr<inspect::Target> target_;
  std::unique_ptr<inspect::RuntimeReader> reader_;  // destroyed before its target
  inspect::SnapshotMemo memo_{};                    // and this before both
};

}  // namespace clrscope::ops
