#include "ops/snapshot_reader.h"

#include "inspect/take_snapshot.h"

namespace clrscope::ops {

Result<SnapshotReader> SnapshotReader::of_process(pid_t pid) {
  return at(TRY(inspect::open_process(pid)));
}

Result<SnapshotReader> SnapshotReader::of_core(const std::string& path) {
  return at(TRY(inspect::open_core(path)));
}

Result<SnapshotReader> SnapshotReader::at(std::unique_ptr<inspect::Target> target) {
  SnapshotReader snapshots;
  snapshots.target_ = std::move(target);
  snapshots.reader_ = TRY(inspect::open_runtime(*snapshots.target_));
  return snapshots;
}

Result<inspect::Snapshot> SnapshotReader::take(Detail detail, inspect::StopPolicy stop) {
  return inspect::take_snapshot(*target_, reader_.get(),
                                {.lines = detail == Detail::kLines, .stop = stop}, &memo_);
}

}  // namespace clrscope::ops
