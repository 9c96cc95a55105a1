#include "inspect/proc_view.h"
#include "inspect/target.h"

namespace clrscope::inspect {
namespace {

class LiveTarget final : public Target {
 public:
  LiveTarget(ProcView proc, std::unique_ptr<MemorySource> memory)
      : proc_(std::move(proc)), memory_(std::move(memory)) {}

  TargetKind kind() const override { return TargetKind::kLive; }
  pid_t pid() const override { return proc_.pid(); }
  MemorySource& memory() override { return *memory_; }
  Result<std::vector<Mapping>> mappings() override { return proc_.mappings(); }
  Result<std::vector<OsThread>> threads() override { return proc_.threads(); }
  Result<UniqueFd> open_file(const std::string& path) override { return proc_.open_file(path); }

 private:
  ProcView proc_;
  std::unique_ptr<MemorySource> memory_;
};

}  // namespace

Result<std::unique_ptr<Target>> open_process(pid_t pid) {
  auto proc = TRY(ProcView::open(pid));
  auto memory = TRY(open_live_memory(pid));
  (void)TRY(proc.read("stat"));  // it lives, so the memory is that of the folder's process
  return std::make_unique<LiveTarget>(std::move(proc), std::move(memory));
}

}  // namespace clrscope::inspect
