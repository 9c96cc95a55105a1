// Records a trace of one process into one file.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/eventpipe/stopping_event.h"
#include "collect/eventpipe/stream_recorder.h"
#include "collect/perf/counts.h"
#include "model/program_cost.h"
#include "model/sampling.h"
#include "nettrace/trace_output.h"
#include "ops/plan.h"
#include "ops/sampler.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using collect::Ending;
using collect::parse_payload_filter;
using collect::Phase;
using collect::StoppingEventRequest;
using collect::StopReason;
using collect::StreamStatus;
using collect::perf::words_for;

struct RecordRequest {
  TargetRequest target;
  ProviderWords providers{};
  std::string output{};  // empty: a name made from the application and the time; "-": stdout
  int output_fd = -1;    // lent, instead of `output`: a pipe
  std::optional<std::chrono::nanoseconds> duration{};
  std::optional<std::uint64_t> max_size{};
  std::optional<std::chrono::nanoseconds> last{};  // keep only this much of the end
  std::optional<collect::StoppingEventRequest> stopping_event{};
  bool compress = false;       // the file is .nettrace.zst
  bool whole_machine = false;  // no target: every process
  unsigned rate = kUsualRate;  // CPU samples per second
  Sampler sampler = Sampler::kBest;
  bool may_load_agent = false;  // where perf is refused; kAgent always may
  std::string symbol_folder{};  // names of native code
  bool kernel_names = true;     // names of kernel functions
  std::uint32_t buffer_mb = 256;
  std::size_t ring_bytes = 0;  // of the kernel's, per CPU; 0: as it needs
  bool rundown = true;
  bool resume = true;
  bool count = false;        // cycles, instructions, page faults …
  bool measure_cost = true;  // what the program uses, before and meanwhile: takes a moment before
  std::span<const int> stop_fds{};
};

struct RecordWatcher {
  std::function<void(const Plan&)> on_plan{};  // what is recorded was chosen
  std::function<void(const Process&, const EventSelection&)> on_start{};
  std::function<void(const collect::StreamStatus&)> on_status{};
};

struct RecordSummary {
  std::string file;
  Process process;
  collect::StreamOutcome outcome;
  std::uint64_t bytes = 0;   // of the file
  std::uint64_t events = 0;  // in the file
  std::uint64_t lost = 0;
  std::uint64_t samples = 0;
  std::uint64_t switches = 0;       // waits that ended
  std::uint64_t perf_events = 0;    // of --perf-events
  std::uint64_t late = 0;           // events out of order, so late did they come
  std::uint64_t broken_stacks = 0;  // that do not reach their root
  std::vector<std::pair<std::string, std::uint64_t>> broken_by_reason{};
  std::vector<std::string> notes{};  // what is missing, a line each
  std::string rewritten{};           // why the file is not the runtime's own bytes; empty: it is
  std::optional<ProgramCost> program_cost{};
  std::optional<collect::perf::Counts> counts{};  // while it was recorded
  std::uint64_t cpu_ms = 0;                       // ours, all of this command
  std::uint64_t rss_bytes = 0;                    // our peak
  std::unique_ptr<Child> child{};                 // still running, or ended; the caller decides
};

inline nettrace::Packing packing_of(const RecordRequest& request) {
  return request.compress ? nettrace::Packing::kZstd : nettrace::Packing::kPlain;
}

// Why a recording ended: what stopped it, or what went wrong.
enum class RecordEnding : std::uint8_t {
  kDuration,
  kSize,
  kSignal,
  kEvent,
  kTargetEnded,
  kTargetDied,
  kNoAnswer,
  kWriteFailed,
};
std::span<const std::string_view> names_of(RecordEnding);  // "duration", "target died" …
RecordEnding ending_of(const RecordSummary& summary);

// The target's runtime has as many sessions as it can have.
bool is_session_limit(const Error& error);

Result<RecordSummary> record(const RecordRequest& request, const RecordWatcher& watcher);

}  // namespace clrscope::ops
