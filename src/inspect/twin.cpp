// make_twin(): the frozen copy of a process as a Target.
#include <algorithm>

#include "inspect/gc_table.h"
#include "inspect/headroom.h"
#include "inspect/proc_view.h"
#include "inspect/stopped_threads.h"
#include "inspect/target.h"
#include "inspect/twin_supervisor.h"

namespace clrscope::inspect {
namespace {

class TwinTarget final : public Target {
 public:
  TwinTarget(ProcView original, std::vector<OsThread> threads,
             std::unique_ptr<TwinSupervisor> supervisor, ProcView twin,
             std::unique_ptr<MemorySource> memory)
      : original_(std::move(original)),
        threads_(std::move(threads)),
        supervisor_(std::move(supervisor)),
        twin_(std::move(twin)),
        memory_(std::move(memory)) {}

  TargetKind kind() const override { return TargetKind::kTwin; }
  pid_t pid() const override { return original_.pid(); }
  MemorySource& memory() override { return *memory_; }
  Result<std::vector<Mapping>> mappings() override { return twin_.mappings(); }
  Result<std::vector<OsThread>> threads() override { return threads_; }
  Result<UniqueFd> open_file(const std::string& path) override { return original_.open_file(path); }
  TwinCost end() { return supervisor_->end(); }

 private:
  ProcView original_;
  std::vector<OsThread> threads_;
  std::unique_ptr<TwinSupervisor> supervisor_;
  ProcView twin_;
  std::unique_ptr<MemorySource> memory_;
};

}  // namespace

Result<Twin> make_twin(pid_t pid, const TwinOptions& request) {
  auto original = TRY(ProcView::open(pid));
  if (!request.force) {
    const auto price = TRY(twin_price(pid));
    TRY(check_headroom(pid, price));
  }
  auto named = TRY(original.threads());
  auto known_request = request;
  if (!request.gc_invalid_counter)
    if (const auto live = open_process(pid))
      known_request.gc_invalid_counter = find_gc_invalid_counter(**live).value_or(0);
  auto supervisor = TRY(TwinSupervisor::start(pid, known_request));
  std::vector<OsThread> threads;
  for (const auto& [tid, user] : supervisor->registers()) {
    const auto known = std::ranges::find(named, tid, &OsThread::tid);
    auto& thread = threads.emplace_back(
        known != named.end() ? std::move(*known) : OsThread{.tid = tid, .namespace_tid = tid});
    thread.registers = registers_of(user);
  }
  auto twin = TRY(ProcView::open(supervisor->twin()));
  auto memory = TRY(open_live_memory(supervisor->twin()));
  const auto cost = supervisor->cost();
  auto target =
      std::make_unique<TwinTarget>(std::move(original), std::move(threads), std::move(supervisor),
                                   std::move(twin), std::move(memory));
  auto* const made = target.get();
  return Twin{.target = std::move(target),
              .cost = cost,
              .end = [made] { return made->end(); },
              .between_collections = known_request.gc_invalid_counter.value_or(0) != 0};
}

}  // namespace clrscope::inspect
