// The agent in a process, seen from outside: its control socket, and the memory it shares.
//
// The process may be hostile: its socket is believed only when the process itself listens on it,
// the shared memory only when it cannot shrink, and every record and name in it is checked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "collect/agent/probes.h"
#include "collect/agent/requests.h"
#include "collect/agent/tick_clock.h"
#include "wire/control.h"
#include "wire/ring.h"

namespace clrscope::collect {

class AgentArena {
 public:
  static Result<AgentArena> map(UniqueFd memory);

  // Calls take(bytes, size) with each record that has come since the last call; in order of each
  // thread, not among threads.
  void drain(const std::function<void(const void*, std::uint32_t)>& take);
  std::uint64_t damaged() const;

  std::string name(std::uint32_t slot) const;  // empty: unknown
  std::uint64_t exceptions() const;
  std::uint64_t contentions() const;
  std::uint64_t allocations() const;
  std::uint64_t happenings(wire::Happening what) const;
  std::uint64_t drops(wire::Drop reason) const;
  struct CpuCounts {
    std::uint64_t ticks_missed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t unarmed = 0;
    std::uint64_t handler_taken = 0;
  };
  CpuCounts cpu_counts() const;
  std::chrono::nanoseconds callback_time() const;
  std::chrono::nanoseconds callback_time(wire::Spender source) const;
  TickClock clock() const;  // false while the agent is writing it
  std::chrono::nanoseconds duration_of(std::uint64_t ticks) const;

 private:
  struct Unmap {
    void operator()(wire::Arena* arena) const;
  };
  explicit AgentArena(wire::Arena* arena);

  std::unique_ptr<wire::Arena, Unmap> arena_;
  std::vector<wire::RingReader> rings_;
};

class AgentConnection {
 public:
  // `socket`: an O_PATH descriptor of it. kNotFound: nobody listens any more.
  static Result<AgentConnection> open(const UniqueFd& socket, pid_t pid);

  // What the agent answers, whatever it is; a connection that ends is kGone. Replies to earlier
  // requests, which were given up, are skipped.
  Result<wire::Reply> ask(wire::RequestKind kind, std::uint32_t value, const Deadline& deadline);
  // The same, and an outcome that is not kDone is an error.
  Result<wire::Status> demand(wire::RequestKind kind, std::uint32_t value,
                              const Deadline& deadline);
  // Makes us the one that listens.
  Result<AgentArena> open_arena(const Deadline& deadline);
  // The memory of the method probes; needs the arena first.
  Result<AgentProbes> open_probes(const Deadline& deadline);
  // The memory of request profiling; likewise.
  Result<AgentRequests> open_requests(const Deadline& deadline);
  // Until the agent closes the connection.
  Result<> wait_for_end(const Deadline& deadline);

  // To poll for POLLRDHUP: a reply that comes late is no end.
  int fd() const { return socket_.get(); }
  bool has_ended() const;

 private:
  explicit AgentConnection(UniqueFd socket) : socket_(std::move(socket)) {}

  UniqueFd socket_;
  UniqueFd passed_;  // came with the last answer
  std::uint32_t next_id_ = 1;
};

}  // namespace clrscope::collect
