// Messages on their way to a peer that may be away: delivered in order by a thread of its own, so
// that a peer that hangs never holds up the sink.
//
// Without a spool what waits is held in memory, up to a limit; beyond it the newest is dropped and
// counted. With a spool every message goes to disk first and is forgotten only when the carrier
// took it: it survives an outage and a restart of clrscope. A disk that is full drops, and counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::sinks {

// Brings a message to its peer; connects when it must. A failure is told once in a while and the
// same message is offered again, later and later (up to 5 s). All calls on the outbox's thread.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual Result<> carry(std::string_view message) = 0;
};

struct OutboxSetting {
  std::string name{};             // of the sink: names its files in the spool
  std::string spool{};            // folder; empty: memory only
  std::uint64_t limit = 4 << 20;  // bytes that may wait
};

class Outbox {
 public:
  struct State {
    std::uint64_t waiting_bytes = 0;
    std::uint64_t delivered = 0;  // items
    std::uint64_t dropped = 0;    // items
    std::uint64_t failures = 0;
    std::string last_failure{};
  };

  static Result<std::unique_ptr<Outbox>> open(OutboxSetting setting,
                                              std::unique_ptr<Carrier> carrier);
  ~Outbox();
  // One thread. Never waits. `items`: how many events or values the message holds.
  void put(std::string message, std::uint32_t items);
  State state() const;
  // Delivers what waits, for at most that long; the rest stays in the spool, or is dropped.
  void finish(std::chrono::nanoseconds patience);

 private:
  Outbox(OutboxSetting setting, std::unique_ptr<Carrier> carrier);
};

}  // namespace clrscope::sinks
