// Connections to a port that have not said yet who they are.
//
// A runtime says so right after it connects. When there are too many, the one that has been silent
// for longest goes: of the same process, of the same user, or of the user who has most. Belongs to
// one thread.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "ipc/endpoint.h"
#include "ipc/frame.h"
#include "ipc/peer.h"

namespace clrscope::ipc {

struct Newcomer {
  UniqueFd connection{};
  Peer peer{};
  std::array<std::uint8_t, kAdvertisementSize> bytes{};
  std::size_t filled = 0;
  TraceTime until{};  // it has to be whole by then
};

class Newcomers {
 public:
  explicit Newcomers(const PortLimits& limits) : limits_(limits) {}

  // Accepts all that wait; those that have said who they are come back at once. After a failure
  // nothing is accepted for a while, longer each time.
  std::vector<Newcomer> accept(int listener, TraceTime now);
  bool accepts(TraceTime now) const { return now >= next_accept_; }

  // One entry each, in order, for poll.
  void watch(std::vector<pollfd>& watched) const;
  // Reads what has come, `seen` being the entries of watch(); returns those that are whole.
  std::vector<Newcomer> hear(const pollfd* seen, TraceTime now);
  // When hear() or accept() is due though nothing has come.
  TraceTime next_time(TraceTime now) const;

  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t failures() const { return failures_; }

 private:
  void back_off(TraceTime now);
  void make_room(const Peer& peer);
  template <class Same>
  void drop_oldest(Same same);

  PortLimits limits_;
  std::vector<Newcomer> silent_;  // oldest first
  TraceTime next_accept_{};
  std::chrono::milliseconds pause_{};
  std::uint64_t dropped_ = 0;
  std::uint64_t failures_ = 0;
};

}  // namespace clrscope::ipc
