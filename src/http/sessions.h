// Recordings that clients start, look after and stop: /sessions.
//
// A session is kept alive by whoever asks about it; one that nobody asks about is ended by its
// lease, and its trace is kept. When it has ended it is a recording of the same id. Any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "http/operations.h"
#include "http/record_thread.h"
#include "http/recordings.h"
#include "http/trace_wish.h"

namespace clrscope::http {

// One as people are shown it: running, or the recording it became.
struct SessionView {
  Recording recording{};  // state: "starting", "recording", "stopping", "finished", "lost"
  bool running = false;
  std::chrono::nanoseconds lease{};       // how long one lasts
  std::chrono::nanoseconds lease_left{};  // until it is ended
};

void write_session(JsonWriter& json, const SessionView& session);

class Sessions {
 public:
  Sessions(Recordings& recordings, Operations& operations);
  ~Sessions();  // stops all; what they recorded is kept

  // Waits until it records.
  Result<SessionView> start(const TraceWish& wish, ops::RecordWish record, const Process& process,
                            const std::string& by);
  std::vector<SessionView> list() const;
  std::size_t count() const;  // of those that run
  Result<SessionView> find(const std::string& id, bool renew);
  // Asks it to end; one that has ended already is no error.
  Result<> stop(const std::string& id);
  Result<> discard(const std::string& id);

 private:
  struct Session {
    Recording recording{};
    std::chrono::nanoseconds lease{};
    Guarded<TraceTime> asked{};  // when somebody last asked about it
    Guarded<bool> unwanted{};    // what it records is not kept
    std::unique_ptr<OperationHandle> operation{};
    std::unique_ptr<RecordThread> thread{};
  };
  using Shared = std::shared_ptr<Session>;

  SessionView view_of(const Session& session) const;
  Shared running(const std::string& id) const;
  void ended(Session& session, const RecordState& state);
  void look(const std::stop_token& stop);

  Recordings& recordings_;
  Operations& operations_;
  Guarded<std::map<std::string, Shared>> all_;  // that run, and for a moment those that have ended
  std::jthread looker_;                         // last member: joins first
};

}  // namespace clrscope::http
