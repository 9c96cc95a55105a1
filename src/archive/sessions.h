// Recordings that clients start, query and stop: /sessions.
//
// Each query extends the lease of a session; when the lease expires the session is stopped and its
// trace kept. One with a duration and without a lease runs to its end. An ended session is a
// recording with the same id. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "archive/operations.h"
#include "archive/record_thread.h"
#include "archive/recordings.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::archive {

// What a client asks for, beyond what is recorded.
struct SessionRequest {
  std::string profile{};  // as it was said
  std::optional<std::chrono::seconds> duration{};
  std::optional<std::chrono::seconds> lease{};
  std::string tags{};
};

// One as people are shown it: running, or the recording it became.
struct SessionView {
  Recording recording{};
  bool running = false;
  std::optional<std::chrono::nanoseconds> planned{};     // duration that was asked for
  std::optional<std::chrono::nanoseconds> lease{};       // how long one lasts; nothing: no end
  std::optional<std::chrono::nanoseconds> lease_left{};  // until it is ended
};

struct SessionAnswer {
  RecordingAnswer recording{};
  bool running = false;
  std::optional<std::chrono::nanoseconds> planned{};
  std::optional<std::chrono::duration<double>> lease{}, lease_left{};  // of one that runs
};
const Shape& shape_of(const SessionAnswer*);
SessionAnswer answer_of(const SessionView& session);

class Sessions {
 public:
  Sessions(Recordings& recordings, Operations& operations);
  ~Sessions();  // stops all; what they recorded is kept

  // Waits until it records.
  Result<SessionView> start(const SessionRequest& request, ops::RecordRequest record,
                            const Process& process, const std::string& by);
  std::vector<SessionView> list() const;
  std::size_t count() const;  // of those that run
  Result<SessionView> find(const std::string& id, bool renew);
  // Asks it to end; one that has already ended is not an error.
  Result<> stop(const std::string& id);
  Result<> discard(const std::string& id);

 private:
  struct Session {
    Recording recording{};
    std::optional<std::chrono::nanoseconds> planned{}, lease{};
    Guarded<TraceTime> asked{};  // when somebody last asked about it
    Guarded<bool> unwanted{};    // what it records is not kept
    std::unique_ptr<OperationHandle> operation{};
    std::unique_ptr<RecordThread> thread{};
  };
  using Shared = std::shared_ptr<Session>;

  SessionView view_of(const Session& session) const;
  Shared running(const std::string& id) const;
  void ended(Session& session, const RecordState& state);
  void watch_leases(const std::stop_token& stop);

  Recordings& recordings_;
  Operations& operations_;
  Guarded<std::map<std::string, Shared>> all_;  // that run, and for a moment those that have ended
  std::jthread watcher_;                        // last member: joins first
};

}  // namespace clrscope::archive
