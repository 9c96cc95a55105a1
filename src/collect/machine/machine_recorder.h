// Records what the kernel and the .NET runtimes know together, on one clock, into one trace.
//
// CPU samples (and, where asked and permitted, where threads wait) come from perf rings and are
// unwound at once, so that the copied stacks are dropped here; every .NET process in scope has an
// EventPipe session for its names and events. All of it goes to one nettrace::Writer. One thread
// does everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/agent/cpu_samples.h"
#include "collect/eventpipe/stopping_event.h"
#include "collect/eventpipe/stream_recorder.h"
#include "collect/machine/method_range.h"
#include "collect/machine/runtime_events.h"
#include "collect/perf/perf_attr.h"
#include "ipc/commands.h"
#include "nettrace/writer.h"

namespace clrscope::collect {

enum class WaitDetail {
  kNone,
  kTimes,   // for how long threads stop running
  kStacks,  // and where; needs tracefs
};

struct MachineRequest {
  std::vector<pid_t> processes{};          // empty: the whole machine
  bool kernel = true;                      // false: the runtimes' events of those processes only
  std::vector<AgentCpuSamples*> agents{};  // CPU samples without the kernel, of a process each
  bool later_runtimes = false;  // .NET processes that start meanwhile tell their events too
  bool samples = true;          // what the CPUs execute
  unsigned rate = kUsualRate;   // samples per second and CPU
  WaitDetail waits = WaitDetail::kNone;
  std::uint64_t most_switches = 0;  // a second; where there are more, waits end. 0: any number
  std::vector<perf::EventRequest> perf_events{};  // others, each time they happen
  std::size_t ring_bytes = 0;                     // of the kernel's, per CPU; 0: as it needs
  bool image_lines = false;                       // of precompiled code what its lines are found by
  std::string symbol_folder{};                    // where else names of native code are looked for
  bool kernel_names = true;                       // of kernel functions
  std::vector<RuntimeEvents> runtime{};           // of each .NET process; the first has the names
  // They wait at their start: nothing is loaded yet that names would be needed for, and a session
  // that ends while .NET 10 waits makes it crash.
  bool suspended = false;
  FindMethod find_lambda{};  // compiled expressions, with what they call; may be empty
  FindMethod find_helper{};  // nameless functions of a runtime, by their start; may be empty
  FindMethod find_method{};  // of those of `processes` whose runtimes do not tell; may be empty
  bool live = false;  // somebody reads the trace while it grows: names come as they are needed
  StreamLimits limits{};
  std::function<std::uint64_t()> file_bytes{};           // for max_size; empty: the trace's own
  std::optional<StoppingEventRequest> stopping_event{};  // of any runtime, or the kernel's
  std::optional<std::chrono::nanoseconds> cut_every{};   // so often the trace can be cut
  std::function<void()> on_stop{};                       // what follows are names
  std::span<const int> stop_fds{};
  std::function<void()> on_started{};  // everything runs: a suspended target may go on
  std::function<void(const StreamStatus&)> on_status{};
  std::function<bool()> target_ended{};  // true: nothing is left to record; may be empty
};

struct MachineOutcome {
  std::optional<StopReason> stopped_by{};
  std::chrono::nanoseconds recorded{};
  nettrace::WriterSummary written{};
  std::uint64_t samples = 0;
  std::uint64_t switches = 0;
  std::uint64_t perf_events = 0;
  std::uint64_t late = 0;           // events that came after later ones were written
  std::uint64_t lost = 0;           // by the kernel and the runtimes
  std::uint64_t broken_stacks = 0;  // that ended before their root
  std::vector<std::pair<std::string, std::uint64_t>> broken_by_reason{};
  std::size_t runtimes = 0;             // .NET processes recorded
  std::vector<pid_t> unfinished{};      // of them: gone or silent before their names came
  std::vector<std::string> notes{};     // what is missing, a line each
  std::optional<Error> write_failed{};  // the recording ended there
};

Result<MachineOutcome> record_machine(const MachineRequest& request,
                                      const nettrace::WriteBytes& write);

}  // namespace clrscope::collect
