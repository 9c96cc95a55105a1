#include "ops/record_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/machine/machine_recorder.h"
#include "ops/output.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kWaitForRuntime{60};
constexpr std::uint64_t kNames = 0x38;  // loader, JIT, NGEN: what gives addresses their names
constexpr std::string_view kRuntimeProvider = "Microsoft-Windows-DotNETRuntime";

// The providers asked for, and what names need in any case.
ipc::SessionConfig runtime_config(const RecordWish& wish, const Wish& providers) {
  ipc::SessionConfig config{.buffer_mb = wish.buffer_mb, .providers = {}};
  for (const auto& one : providers.providers) config.providers.push_back(one.provider);
  const auto runtime = std::ranges::find_if(config.providers, [](const auto& p) {
    return equal_ignoring_case(p.name, kRuntimeProvider);
  });
  if (runtime == config.providers.end()) {
    config.providers.push_back(
        {.name = std::string{kRuntimeProvider}, .keywords = kNames, .level = ipc::Level::kVerbose});
  } else {
    runtime->keywords |= kNames;
    runtime->level = ipc::Level::kVerbose;
  }
  return config;
}

bool has_ended(pid_t pid) {
  const auto status = proc_status(pid);
  return !status || status->state == 'Z' || status->state == 'X';
}

Process whole_machine() { return {.pid = 0, .name = "machine", .user = ""}; }

Result<> resume(Target& target, const RecordWish& wish) {
  if (!wish.resume || !target.suspended) return {};
  return target.child ? target.child->resume(*target.endpoint)
                      : ipc::resume_runtime(*target.endpoint);
}

}  // namespace

Result<RecordSummary> record_with_kernel(const RecordWish& wish, const Wish& providers,
                                         const RecordWatcher& watcher) {
  if (wish.last)
    return fail(Errc::kUnsupported, "--last keeps runtime events only, so far")
        .hint("leave out cpu-sampling and thread-time");
  if (wish.stopping_event)
    return fail(Errc::kUnsupported, "a stopping event needs a recording of one runtime, so far");
  Target target;
  if (wish.whole_machine)
    target.process = whole_machine();
  else
    target = TRY(
        find_target(wish.target, kWaitForRuntime, wish.stop_fds.empty() ? -1 : wish.stop_fds[0]));

  RecordSummary summary{.file = expand_output(wish.output, target.process, ".nettrace"),
                        .process = target.process,
                        .outcome = {}};
  const auto output = TRY(open_output(summary.file));
  std::optional<Error> not_resumed;
  collect::MachineWish machine{
      .later_runtimes = wish.whole_machine,
      .rate = wish.rate,
      .waits = providers.kernel == KernelWish::kThreadTime ? collect::WaitsWish::kStacks
                                                           : collect::WaitsWish::kNone,
      .symbol_folder = wish.symbol_folder,
      .runtime = runtime_config(wish, providers),
      .limits = {.duration = wish.duration, .max_size = wish.max_size},
      .stop_fds = wish.stop_fds,
      .on_started =
          [&] {
            if (watcher.on_start) watcher.on_start(target.process, providers);
            if (auto resumed = resume(target, wish); !resumed) not_resumed = resumed.error();
          },
      .on_status = watcher.on_status,
  };
  if (!wish.whole_machine) {
    machine.processes = {target.process.pid};
    machine.target_ended = [&] { return not_resumed.has_value() || has_ended(target.process.pid); };
  }
  const auto outcome = TRY(collect::record_machine(
      machine, [&](Bytes bytes) { return write_all(output.get(), bytes); }));
  if (not_resumed) return fail(*not_resumed);

  const bool ended = outcome.asked_by == "target ended";
  summary.outcome = {.ending = ended ? collect::Ending::kTargetEnded : collect::Ending::kAsked,
                     .asked_by = ended ? "" : outcome.asked_by,
                     .recorded = outcome.recorded,
                     .bytes = outcome.written.bytes};
  summary.bytes = outcome.written.bytes;
  summary.events = outcome.written.events;
  summary.lost = outcome.lost;
  summary.samples = outcome.samples;
  summary.switches = outcome.switches;
  summary.broken_stacks = outcome.broken_stacks;
  summary.broken_by_reason = outcome.broken_by_reason;
  summary.notes = outcome.notes;
  summary.child = std::move(target.child);
  return summary;
}

}  // namespace clrscope::ops
