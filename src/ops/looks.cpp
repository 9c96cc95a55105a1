#include "ops/looks.h"

#include "inspect/look.h"

namespace clrscope::ops {

Result<Looker> Looker::at_process(pid_t pid) { return at(TRY(inspect::open_process(pid))); }

Result<Looker> Looker::at_core(const std::string& path) {
  return at(TRY(inspect::open_core(path)));
}

Result<Looker> Looker::at(std::unique_ptr<inspect::Target> target) {
  Looker looker;
  looker.target_ = std::move(target);
  looker.reader_ = TRY(inspect::open_runtime(*looker.target_));
  return looker;
}

Result<inspect::Snapshot> Looker::look(Detail detail) {
  return inspect::look(*target_, reader_.get(), {.lines = detail == Detail::kLines});
}

}  // namespace clrscope::ops
