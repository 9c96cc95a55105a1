// Profiles of HTTP requests that clients start, watch and stop: /requests/runs.
//
// Each runs on a thread of its own until its time is over, somebody stops it or the process ends.
// One at a time in a process. What it found stays in memory until newer ones need the room. Any
// thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "archive/operations.h"
#include "archive/process_reference.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"
#include "ops/request_profile.h"

namespace clrscope::archive {

enum class RunState : std::uint8_t { kStarting, kRunning, kStopping, kFinished, kFailed };
std::span<const std::string_view> names_of(RunState);
enum class RunEnding : std::uint8_t { kDuration, kStopped, kExited };
std::span<const std::string_view> names_of(RunEnding);

struct RequestRun {
  std::string id{};
  RunState state = RunState::kStarting;
  WallTime started{};
  Process process{};
  std::vector<std::string> include{}, exclude{};
  std::optional<double> probability{};  // nothing: automatic
  std::chrono::nanoseconds planned{};
  std::string by{};
  WallTime updated{};                 // when `profile` was true
  std::optional<RunEnding> ending{};  // of one that finished
  std::optional<Error> error{};       // of one that failed
  std::shared_ptr<const ops::RequestProfile> profile{};

  bool running() const { return state < RunState::kFinished; }
};

// What answers say of it.
struct RequestRunAnswer {
  std::string id{};
  RunState state{};
  bool running = false;
  WallTime started{};
  ProcessReference process{};
  std::vector<std::string> include{}, exclude{};
  std::optional<double> probability{};
  std::chrono::nanoseconds planned{}, duration{};
  std::uint64_t seen = 0, sampled = 0;
  WallTime updated{};
  std::optional<RunEnding> ending{};
  std::string error{}, hint{}, by{};
};
const Shape& shape_of(const RequestRunAnswer*);
RequestRunAnswer answer_of(const RequestRun& run);

struct RunLimits {
  std::size_t running = 8;
  std::size_t kept = 20;        // with those that run
  std::size_t spans = 400'000;  // of all that have ended; the newest is kept in any case
};

// Those that have to go, so that the rest is within the limits. The newest is first.
std::vector<std::string> surplus(const std::vector<RequestRun>& all, const RunLimits& limits);

class RequestRuns {
 public:
  explicit RequestRuns(Operations& operations, RunLimits limits = {})
      : operations_(operations), limits_(limits) {}
  ~RequestRuns();  // stops all

  struct Started {
    RequestRun run{};
    bool is_new = true;  // false: the one that runs in the process already
  };
  Result<Started> start(ops::ProfileRequest request, const Process& process, const std::string& by);
  // Until it has ended, or it is stopped because `gone` says that nobody waits for it.
  Result<RequestRun> wait(const std::string& id, const std::function<bool()>& gone);

  std::vector<RequestRun> list() const;  // the newest first
  Result<RequestRun> find(const std::string& id) const;
  // With single requests, also of one that runs: from the next second on. A request with
  // `trace_id` that is there now is there from now on.
  Result<RequestRun> find_with_requests(const std::string& id, const std::string& trace_id);
  Result<> stop(const std::string& id);    // it goes on until it has ended
  Result<> remove(const std::string& id);  // waits until it has ended

 private:
  struct Kept {
    RequestRun run{};
    std::vector<ops::ProfiledRequest> opened{};  // that readers look at
    TraceTime wanted_until{};                    // single requests
  };
  struct Run {
    UniqueFd stop_event{};
    std::unique_ptr<OperationHandle> operation{};
    Guarded<Kept> kept{};
    std::jthread thread{};  // last: joins first
    void ask_to_stop();
  };
  using RunPointer = std::shared_ptr<Run>;

  static void profile(Run& run, ops::ProfileRequest request);
  RunPointer pointer(const std::string& id) const;
  std::vector<RunPointer> take_surplus();

  Operations& operations_;
  const RunLimits limits_;
  Guarded<std::list<RunPointer>> runs_;  // the newest first
};

}  // namespace clrscope::archive
