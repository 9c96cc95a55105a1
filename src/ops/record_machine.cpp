#include "ops/record_machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/io.h"
#include "base/proc_identity.h"
#include "base/text.h"
#include "collect/machine/machine_recorder.h"
#include "collect/machine/machine_writer.h"
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
  const bool ended = outcome.stopped_by == collect::StopReason::kTargetEnded;
  const bool unfinished = std::ranges::find(outcome.unfinished, target) != outcome.unfinished.end();
  if (target == 0 || !unfinished) return ended ? Ending::kTargetEnded : Ending::kAsked;
  return ended ? Ending::kTargetDied : Ending::kNoAnswer;
}

// A switch with its stack costs about 10 microseconds, a third of them ours.
std::uint64_t cheap_switches() {
  constexpr std::uint64_t kPerCpu = 2000;
  return kPerCpu * std::max(1U, std::thread::hardware_concurrency());
}

collect::WaitDetail wait_detail(WaitRung rung) {
  return rung == WaitRung::kStacks  ? collect::WaitDetail::kStacks
         : rung == WaitRung::kTimes ? collect::WaitDetail::kTimes
                                    : collect::WaitDetail::kNone;
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

Result<> resume(Target& target, const RecordRequest& request) {
  if (!request.resume || !target.suspended) return {};
  return target.child ? target.child->resume(*target.endpoint)
                      : ipc::resume_runtime(*target.endpoint);
}

}  // namespace

Result<RecordSummary> record_with_kernel(const RecordRequest& request, const Plan& plan,
                                         Target& target,
                                         std::vector<collect::AgentCpuSamples*> agents,
                                         RecordSummary summary, int output,
                                         const RecordWatcher& watcher) {
  const auto& providers = plan.selection;
  std::optional<Error> not_resumed;
  const ProcessEnd target_end{target.process.pid};
  collect::MachineWriter writer{recording_file(request, summary.file, output)};
  MemoryNames memory;
  collect::MachineRequest machine{
      .kernel = plan.kernel,
      .agents = std::move(agents),
      .later_runtimes = request.whole_machine,
      .samples = providers.kernel != KernelData::kNothing,
      .rate = request.rate,
      .waits = wait_detail(plan.rung.waits),
      .most_switches = plan.waits_while_cheap ? cheap_switches() : 0,
      .perf_events = plan.perf_events,
      .ring_bytes = request.ring_bytes,
      .image_lines = request.providers.lines,
      .symbol_folder = request.symbol_folder,
      .kernel_names = request.kernel_names,
      .runtime = runtime_sessions(plan, request.buffer_mb, request.rundown),
      .suspended = target.suspended,
      .find_lambda = [&](ProcessId process,
                         std::uint64_t address) { return memory.find_lambda(process, address); },
      .find_helper = [&](ProcessId process,
                         std::uint64_t start) { return memory.find_helper(process, start); },
      .find_method = [&](ProcessId process,
                         std::uint64_t address) { return memory.find(process, address); },
      .limits = {.duration = request.duration, .max_size = request.max_size},
      .file_bytes = [&] { return writer.file_bytes(); },
      .stopping_event = request.stopping_event,
      .cut_every = writer.cut_every(),
      .on_stop = [&] { writer.on_stop(); },
      .stop_fds = request.stop_fds,
      .on_started =
          [&] {
            if (watcher.on_start) watcher.on_start(target.process, providers);
            if (auto resumed = resume(target, request); !resumed) not_resumed = resumed.error();
          },
      .on_status =
          [&](const collect::StreamStatus& status) {
            writer.on_status();
            if (watcher.on_status) watcher.on_status(status);
          },
  };
  if (request.whole_machine && !machine.agents.empty())
    for (const auto* agent : machine.agents) machine.processes.push_back(agent->process());
  else if (request.whole_machine && plan.rung.cpu != CpuRung::kMachine)
    machine.processes = TRY(reachable_runtimes());
  if (!request.whole_machine) {
    machine.processes = {target.process.pid};
    machine.target_ended = [&] { return not_resumed.has_value() || target_end.has_come(); };
  }
  auto outcome =
      TRY(collect::record_machine(machine, [&](Bytes bytes) { return writer.write(bytes); }));
  if (not_resumed) return fail(*not_resumed);

  summary.outcome = {.ending = ending_of(outcome, target.process.pid),
                     .stopped_by = outcome.stopped_by,
                     .recorded = outcome.recorded,
                     .bytes = outcome.written.bytes,
                     .error = outcome.write_failed};
  summary.events = outcome.written.events;
  summary.lost = outcome.lost;
  summary.late = outcome.late;
  summary.samples = outcome.samples;
  summary.switches = outcome.switches;
  summary.perf_events = outcome.perf_events;
  summary.broken_stacks = outcome.broken_stacks;
  summary.broken_by_reason = std::move(outcome.broken_by_reason);
  summary.notes = std::move(outcome.notes);
  using WriterEnding = collect::MachineWriter::Ending;
  add_written(summary, TRY(writer.finish(outcome.write_failed ? WriterEnding::kWriteFailed
                                                              : WriterEnding::kComplete)));
  return summary;
}

}  // namespace clrscope::ops
