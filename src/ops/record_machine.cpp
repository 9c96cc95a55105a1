#include "ops/record_machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/eventpipe/rewrite.h"
#include "collect/machine/machine_recorder.h"
#include "collect/machine/segment_ring.h"
#include "ipc/discover.h"
#include "ops/memory_names.h"
#include "ops/output.h"
#include "ops/runtime_sessions.h"

namespace clrscope::ops {
namespace {

// `target` 0 is the machine, of which nobody is missed in particular.
collect::Ending ending_of(const collect::MachineOutcome& outcome, pid_t target) {
  using collect::Ending;
  if (outcome.write_failed) return Ending::kWriteFailed;
  const bool ended = outcome.asked_by == "target ended";
  const bool unfinished = std::ranges::find(outcome.unfinished, target) != outcome.unfinished.end();
  if (target == 0 || !unfinished) return ended ? Ending::kTargetEnded : Ending::kAsked;
  return ended ? Ending::kTargetDied : Ending::kNoAnswer;
}

// A switch with its stack costs about 10 microseconds, a third of them ours.
std::uint64_t cheap_switches() {
  constexpr std::uint64_t kPerCpu = 2000;
  return kPerCpu * std::max(1U, std::thread::hardware_concurrency());
}

collect::WaitsWish waits_wish(WaitRung rung) {
  return rung == WaitRung::kStacks  ? collect::WaitsWish::kStacks
         : rung == WaitRung::kTimes ? collect::WaitsWish::kTimes
                                    : collect::WaitsWish::kNone;
}

// In place of the whole machine: the .NET processes that let us in. Others may start later: where
// there is none yet, we ourselves are what can be recorded.
Result<std::vector<pid_t>> reachable_runtimes() {
  std::vector<pid_t> reachable;
  for (const auto& process : TRY(ipc::find_processes()))
    if (process.reachable() && process.status.state != 'T') reachable.push_back(process.pid);
  if (reachable.empty()) reachable.push_back(::getpid());
  return reachable;
}

constexpr std::chrono::nanoseconds kLongestCut = std::chrono::seconds{10};
constexpr std::chrono::nanoseconds kShortestCut = std::chrono::seconds{1};

// The trace as it will be kept: all of it, or its last seconds.
class KernelKeeper {
 public:
  KernelKeeper(const RecordWish& wish, const std::string& file, int output)
      : output_(output, packing_of(wish), nettrace::TraceVersion::kV6), last_(wish.last) {
    if (last_) ring_.emplace(folder_of(file), *last_);
  }

  Result<> write(Bytes blocks) { return ring_ ? ring_->add(blocks) : output_.write(blocks); }
  void on_stop() {
    stopped_ = TraceClock::now();
    if (ring_) ring_->freeze();
  }
  void on_status() { (void)output_.tick(); }  // the next write fails too, and is looked at
  std::uint64_t file_bytes() const { return output_.bytes(); }
  std::optional<std::chrono::nanoseconds> cut_every() const {
    if (!last_) return std::nullopt;
    return std::clamp(*last_ / 8, kShortestCut, kLongestCut);
  }

  Result<> finish(RecordSummary& summary) {
    const bool write_failed = summary.outcome.ending == collect::Ending::kWriteFailed;
    if (!ring_) {
      if (!write_failed) TRY(output_.finish());
      summary.bytes = output_.bytes();
    }
    if (!ring_ || write_failed) return {};
    const auto names = TRY(ring_->names());
    const auto rewritten = TRY(
        collect::rewrite_to(output_, {.feed = [&](const auto& take) { return ring_->replay(take); },
                                      .early_names = {.loaded_later = names},
                                      .oldest = stopped_ - *last_,
                                      .cut_begin = true}));
    summary.bytes = rewritten.bytes;
    summary.events = rewritten.events;
    summary.samples = rewritten.samples;
    summary.lost = rewritten.lost;
    summary.rewritten = fmt::format("only the last {} are kept", format_duration(*last_));
    return {};
  }

 private:
  nettrace::TraceOutput output_;
  std::optional<std::chrono::nanoseconds> last_;
  std::optional<collect::SegmentRing> ring_;
  TraceTime stopped_ = TraceClock::now();
};

bool has_ended(pid_t pid) {
  const auto status = proc_status(pid);
  return !status || status->state == 'Z' || status->state == 'X';
}

Result<> resume(Target& target, const RecordWish& wish) {
  if (!wish.resume || !target.suspended) return {};
  return target.child ? target.child->resume(*target.endpoint)
                      : ipc::resume_runtime(*target.endpoint);
}

}  // namespace

Result<RecordSummary> record_with_kernel(const RecordWish& wish, const Plan& plan, Target& target,
                                         RecordSummary summary, int output,
                                         const RecordWatcher& watcher) {
  const auto& providers = plan.wish;
  std::optional<Error> not_resumed;
  KernelKeeper keeper{wish, summary.file, output};
  MemoryNames memory;
  collect::MachineWish machine{
      .kernel = plan.kernel,
      .later_runtimes = wish.whole_machine,
      .samples = providers.kernel != KernelWish::kNothing,
      .rate = wish.rate,
      .waits = waits_wish(plan.rung.waits),
      .most_switches = plan.waits_while_cheap ? cheap_switches() : 0,
      .perf_events = plan.perf_events,
      .ring_bytes = wish.ring_bytes,
      .image_lines = wish.providers.lines,
      .symbol_folder = wish.symbol_folder,
      .runtime = runtime_sessions(plan, wish.buffer_mb, wish.rundown),
      .suspended = target.suspended,
      .find_lambda = [&](ProcessId process,
                         std::uint64_t address) { return memory.find_lambda(process, address); },
      .find_helper = [&](ProcessId process,
                         std::uint64_t start) { return memory.find_helper(process, start); },
      .find_method = [&](ProcessId process,
                         std::uint64_t address) { return memory.find(process, address); },
      .limits = {.duration = wish.duration, .max_size = wish.max_size},
      .file_bytes = [&] { return keeper.file_bytes(); },
      .stopping_event = wish.stopping_event,
      .cut_every = keeper.cut_every(),
      .on_stop = [&] { keeper.on_stop(); },
      .stop_fds = wish.stop_fds,
      .on_started =
          [&] {
            if (watcher.on_start) watcher.on_start(target.process, providers);
            if (auto resumed = resume(target, wish); !resumed) not_resumed = resumed.error();
          },
      .on_status =
          [&](const collect::StreamStatus& status) {
            keeper.on_status();
            if (watcher.on_status) watcher.on_status(status);
          },
  };
  if (wish.whole_machine && plan.rung.cpu != CpuRung::kMachine)
    machine.processes = TRY(reachable_runtimes());
  if (!wish.whole_machine) {
    machine.processes = {target.process.pid};
    machine.target_ended = [&] { return not_resumed.has_value() || has_ended(target.process.pid); };
  }
  auto outcome =
      TRY(collect::record_machine(machine, [&](Bytes bytes) { return keeper.write(bytes); }));
  if (not_resumed) return fail(*not_resumed);

  summary.outcome = {.ending = ending_of(outcome, target.process.pid),
                     .asked_by = outcome.asked_by,
                     .recorded = outcome.recorded,
                     .bytes = outcome.written.bytes,
                     .error = outcome.write_failed};
  summary.bytes = outcome.written.bytes;
  summary.events = outcome.written.events;
  summary.lost = outcome.lost;
  summary.late = outcome.late;
  summary.samples = outcome.samples;
  summary.switches = outcome.switches;
  summary.perf_events = outcome.perf_events;
  summary.broken_stacks = outcome.broken_stacks;
  summary.broken_by_reason = std::move(outcome.broken_by_reason);
  summary.notes = std::move(outcome.notes);
  TRY(keeper.finish(summary));
  return summary;
}

}  // namespace clrscope::ops
