// Carriers over sockets: a stream (TCP or unix) and datagrams (UDP or unix).
//
// TCP acknowledges bytes, not messages, and only that the peer's kernel has them. The stream
// carrier counts what the kernel still holds (SIOCOUTQ), sees a peer that closed or takes nothing,
// and has those messages carried again after a break. What a peer sends is thrown away.
#pragma once

#include <atomic>
#include <deque>

#include "base/clock.h"
#include "base/fd.h"
#include "net/socket.h"
#include "sinks/outbox.h"

namespace clrscope::sinks {

struct Patience {
  std::chrono::nanoseconds connect = std::chrono::seconds{3};
  std::chrono::nanoseconds send = std::chrono::seconds{10};  // without the peer taking anything
};

// What is carried again after a break: what was not acknowledged, or also the messages of the last
// seconds, which the peer may not have read. The latter for peers to whom twice is once.
enum class Repeat : std::uint8_t { kUnacknowledged, kRecent };

class StreamCarrier final : public Carrier {
 public:
  explicit StreamCarrier(net::Address peer, Repeat repeat = Repeat::kUnacknowledged,
                         Patience patience = {})
      : peer_(std::move(peer)), repeat_(repeat), patience_(patience) {}

  Result<> carry(std::string_view message, std::uint32_t items) override;
  Result<Underway> underway() override;
  void interrupt() override { interrupted_ = true; }

 private:
  struct Sent {
    std::uint64_t end = 0;  // in bytes of this connection
    TraceTime time{};
  };

  Result<> connect();
  Result<> send(Bytes bytes);
  Result<> see_peer();
  Failure broken(std::string_view why);

  const net::Address peer_;
  const Repeat repeat_;
  const Patience patience_;
  std::atomic<bool> interrupted_{false};
  UniqueFd socket_;
  std::uint64_t bytes_ = 0;  // sent on this connection
  std::uint64_t acknowledged_ = 0;
  TraceTime progress_{};  // when that last grew, or nothing was under way
  std::deque<Sent> sent_;
};

// A message is a datagram. Nobody acknowledges it: what is lost on the way is lost. A refusal that
// the kernel tells at once, as on one machine, has the message sent again.
class DatagramCarrier final : public Carrier {
 public:
  explicit DatagramCarrier(net::Address peer, Patience patience = {})
      : peer_(std::move(peer)), patience_(patience) {}

  Result<> carry(std::string_view message, std::uint32_t items) override;

 private:
  const net::Address peer_;
  const Patience patience_;
  UniqueFd socket_;
};

}  // namespace clrscope::sinks
