// Profiles of HTTP requests that clients start, watch and stop: /requests/runs.
//
// Each runs on a thread of its own until its time is over, somebody stops it or the process ends.
// One at a time in a process. What it found stays until newer ones need the room, also when the
// server starts again: then those that ran are listed as cut, with their data so far. Their files
// count in the disk limit and take at most a quarter of it. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "archive/operations.h"
#include "archive/recordings.h"
#include "archive/request_run.h"
#include "archive/run_files.h"
#include "archive/settings.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "model/process.h"
#include "ops/request_profile.h"

namespace clrscope::archive {

struct RunLimits {
  std::size_t running = 8;
  std::size_t kept = 20;        // with those that run
  std::size_t spans = 400'000;  // of all that have ended; the newest is kept in any case
  std::uint64_t bytes = ~std::uint64_t{0};  // on disk, with those that run; likewise
};

// Those that have to go, so that the rest is within the limits. The newest is first.
std::vector<std::string> surplus(const std::vector<RequestRun>& all, const RunLimits& limits);

class RequestRuns {
 public:
  RequestRuns(Operations& operations, Recordings& recordings, const ArchiveSettings& settings,
              RunLimits limits = {});
  ~RequestRuns();  // stops all

  struct Started {
    RequestRun run{};
    bool is_new = true;  // false: the one that runs in the process already
  };
  Result<Started> start(ops::ProfileRequest request, const Process& process, const std::string& by);
  // Until it has ended, or it is stopped because `gone` says that nobody waits for it.
  Result<RequestRun> wait(const std::string& id, const std::function<bool()>& gone);

  std::vector<RequestRun> list() const;  // the newest first
  std::uint64_t bytes() const;           // on disk
  Result<RequestRun> find(const std::string& id) const;
  // With single requests, also of one that runs: from the next second on. A request with
  // `trace_id` that is there now is there from now on.
  Result<RequestRun> find_with_requests(const std::string& id, const std::string& trace_id);
  Result<> stop(const std::string& id);    // it goes on until it has ended
  Result<> remove(const std::string& id);  // waits until it has ended

  // What it found: from memory or from its file.
  Result<std::string> profile_json(const RequestRun& run) const;
  Result<std::string> profile_text(const RequestRun& run) const;

 private:
  struct Kept {
    RequestRun run{};
    std::vector<ops::ProfiledRequest> opened{};  // that readers look at
    TraceTime wanted_until{};                    // single requests
  };
  struct Run {
    explicit Run(Recordings& recordings) : share(recordings, Recordings::Share::Kind::kBeside) {}

    Recordings::Share share;
    std::atomic<std::uint64_t> bytes{0};  // of its share
    UniqueFd stop_event{};
    std::unique_ptr<OperationHandle> operation{};
    Guarded<Kept> kept{};
    std::atomic<bool> is_cut{false};        // the server stops
    std::atomic<bool> is_discarded{false};  // nobody wants its files
    std::jthread thread{};                  // last: joins first
    void ask_to_stop();
  };
  using RunPointer = std::shared_ptr<Run>;

  void profile(Run& run, ops::ProfileRequest request);
  void save(Run& run, const RequestRun& now);
  RunPointer pointer(const std::string& id) const;
  std::vector<RunPointer> take_surplus();

  Operations& operations_;
  Recordings& recordings_;
  const RunLimits limits_;
  const RunFiles files_;
  Guarded<std::list<RunPointer>> runs_;  // the newest first
};

}  // namespace clrscope::archive
