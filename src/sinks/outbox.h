// Messages on their way to a peer that may be away: delivered in order by a thread of its own, so
// that a peer that hangs never holds up the sink.
//
// Without a spool what waits is held in memory, up to a limit; beyond it the newest is dropped and
// counted. With a spool every message goes to disk first and is forgotten only when the carrier
// took it: it survives an outage and a restart of clrscope. A disk that is full drops, and counts.
// What exactly is promised: docs/forwarding.md
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/waiting.h"

namespace clrscope::sinks {

// Of the messages carried last, how many are not settled.
struct Underway {
  std::size_t unacknowledged = 0;
  // To be carried again if the connection breaks, even those that its kernel acknowledged: the peer
  // may have died with them unread. At least the unacknowledged.
  std::size_t repeatable = 0;
};

// Delivers messages to a peer; connects on demand. A failure is reported now and then and the
// same message is offered again, later and later (up to 5 s). All calls but interrupt() on the
// outbox's thread.
class Carrier {
 public:
  virtual ~Carrier() = default;
  // `items`: how many events or values it holds.
  virtual Result<> carry(std::string_view message, std::uint32_t items) = 0;
  // Items so far that the peer refused for good: they are not sent again.
  virtual std::uint64_t refused() const { return 0; }
  // A failure: the connection broke since; what was under way is carried again.
  virtual Result<Underway> underway() { return Underway{}; }
  // Any thread: nothing will be carried any more; a call that waits for the peer ends soon.
  virtual void interrupt() {}
};

struct OutboxSetting {
  std::string name{};             // of the sink: names its files in the spool
  std::string spool{};            // folder; empty: memory only
  std::uint64_t limit = 4 << 20;  // bytes that may wait
};

class Outbox {
 public:
  struct State {
    std::uint64_t waiting_bytes = 0;  // not sent yet, or not acknowledged
    std::uint64_t delivered = 0;      // items; acknowledged where the peer does
    std::uint64_t reached = 0;        // the most that ever were, before a break made some repeat
    std::uint64_t refused = 0;        // items, by the peer and for good; not delivered
    std::uint64_t dropped = 0;        // items
    std::uint64_t damaged = 0;        // places in the spool that could not be read again
    std::uint64_t failures = 0;       // attempts to deliver, and to write to the spool
    std::string last_failure{};
    bool spooled = false;

    // "delivered 1,204, waiting 2.1 KB in the spool, dropped 0"
    std::string text() const;
  };

  // Fails when another clrscope has its spool. While another outbox of ours has it, this one waits
  // for it: what is put meanwhile is dropped.
  static Result<std::unique_ptr<Outbox>> open(OutboxSetting setting,
                                              std::unique_ptr<Carrier> carrier);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // One thread, not after finish(). Never waits. `items`: how many events or values the message
  // holds.
  void put(std::string message, std::uint32_t items);
  // Any thread.
  State state() const;
  // The thread of put(): the last failure, if there was one since the last call.
  Result<> trouble();
  // Delivers what waits, for at most that long; the rest stays in the spool, or is dropped.
  void finish(std::chrono::nanoseconds patience);

 private:
  Outbox(OutboxSetting setting, std::unique_ptr<Waiting> waiting, std::unique_ptr<Carrier> carrier);
  void run(const std::stop_token& stop);
  std::optional<Message> next(const std::stop_token& stop);
  void settle(const Result<Underway>& underway, const std::stop_token& stop);
  void note(const Error& error);  // locked, as the next three
  Result<> have_waiting();
  std::optional<Message> take();
  State seen() const;

  const OutboxSetting setting_;
  std::unique_ptr<Carrier> carrier_;  // but for interrupt() touched by worker_ only
  mutable std::mutex mutex_;          // of all that follows
  std::condition_variable_any changed_;
  std::unique_ptr<Waiting> waiting_;  // none while another has the spool, and after finish()
  State state_;
  std::uint64_t told_failures_ = 0;
  std::size_t unacknowledged_ = 0;  // of those taken
  std::chrono::nanoseconds pause_;  // before the next attempt, when one fails
  bool pushed_ = false;
  bool finishing_ = false;
  bool drained_ = false;
  bool finished_ = false;
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::sinks
