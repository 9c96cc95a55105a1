// Ending an EventPipe session: the runtime is asked on a thread of its own, because it answers
// after the rundown, which must be read meanwhile. The end of the stream says it all: the answer
// only tells that the end must be near. A target that goes silent, or goes on, is given up.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "ipc/cancellable_endpoint.h"

namespace clrscope::collect {

class SessionEnd {
 public:
  // `pid` as we see it; 0 when unknown.
  SessionEnd(ipc::Endpoint& runtime, std::uint64_t session_id, pid_t pid)
      : runtime_(runtime, kConnectPatience),
        session_id_(session_id),
        pid_(pid),
        heard_(TraceClock::now()) {}
  ~SessionEnd() { runtime_.cancel(); }

  void ask();  // the first call counts
  void hear() { heard_ = TraceClock::now(); }

  std::optional<TraceTime> asked_at() const { return asked_at_; }
  // It was asked, and for so long nothing came that nothing will, or so much that it never ends.
  bool hopeless() const;

 private:
  static constexpr std::chrono::seconds kConnectPatience{2};

  ipc::CancellableEndpoint runtime_;
  std::uint64_t session_id_;
  pid_t pid_;
  TraceTime heard_;
  std::optional<TraceTime> asked_at_;
  std::atomic<TraceTime> answered_at_{TraceTime::max()};
  std::jthread asker_;  // last: joins before what it uses goes
};

}  // namespace clrscope::collect
