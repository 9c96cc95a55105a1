// A feed: one live topic of a process, such as its counters, collections, logs or selected events.
//
// A feed is one listener of the process's hub, opened by the first client and shared by all clients
// with the same request. Its last items are kept, so that a client whose connection broke can
// resume.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hub/hub.h"
#include "live/items.h"
#include "live/log_entries.h"
#include "live/window.h"

namespace clrscope::live {

struct FeedRequest {
  Topic topic{};
  std::string key{};  // the same for all who ask for the same
  hub::SessionRequest session{};
  Messages messages = Messages::kShown;  // of exceptions
};
FeedRequest counters_feed(std::vector<hub::CounterRequest> counters,
                          std::chrono::nanoseconds interval);
// Of the runtime's events.
FeedRequest runtime_feed(Topic topic, Messages messages = Messages::kShown);
FeedRequest logs_feed(const LogRequest& request);
Result<hub::Where> parse_where(std::string_view text);
FeedRequest events_feed(std::vector<hub::ProviderRequest> providers, hub::Where where,
                        std::string_view where_text);

// One published item, shared by all followers.
struct LiveItem {
  std::uint64_t id = 0;  // of the process: grows from thing to thing
  Topic topic{};
  std::string json{};                         // an object; of counters: an array of them
  std::vector<hub::CounterValue> counters{};  // of counters
  std::optional<LogEntry> log{};              // of logs
};
using LiveItemPtr = std::shared_ptr<const LiveItem>;

// Somebody who follows. Calls come from many threads, one at a time, and must not wait.
class Follower {
 public:
  virtual ~Follower() = default;
  // False: it wants no more.
  virtual bool on_item(const LiveItem& item) = 0;
  virtual bool on_tick() = 0;  // twice a second
  // So many things were told while it was away and are no longer there; `exact`: no more than that.
  virtual void on_missed(std::uint64_t items, bool exact) { (void)items, (void)exact; }
  virtual void on_end(const std::string& why) = 0;  // nothing more comes
};

// The last things that a feed told.
class Replay {
 public:
  explicit Replay(std::size_t bytes) : limit_(bytes) {}

  void add(LiveItemPtr item);
  const std::deque<LiveItemPtr>& items() const { return items_; }
  // How many that came after `id` are gone; false: perhaps more.
  std::pair<std::uint64_t, bool> missed_after(std::uint64_t id) const;

 private:
  static constexpr std::size_t kMostIds = 20'000;
  std::size_t limit_;
  std::size_t bytes_ = 0;
  std::deque<LiveItemPtr> items_;
  std::deque<std::uint64_t> gone_;  // ids of those that left
  std::uint64_t forgotten_ = 0;     // up to this id we do not even know the ids
};

// The state of a feed; LiveProcess owns it.
struct Feed {
  Feed(FeedRequest requested, const WindowLimits& limits, std::size_t replay_bytes);

  const FeedRequest request;
  const WallTime since = wall_now();
  hub::ListenerId listener{};
  RecentExceptions exceptions{};
  std::unique_ptr<Window> window{};  // of runtime topics
  std::unique_ptr<ItemMaker> maker{};
  std::optional<LogDecoder> logs{};
  std::atomic<std::uint64_t> told{0};      // values or events that came
  std::atomic<std::uint64_t> dropped{0};   // that came faster than they were taken
  std::atomic<std::uint64_t> left_out{0};  // items beyond the rate that streams have

  // Under the process's lock.
  TraceTime asked{};  // last
  std::size_t followers = 0;
  Replay replay;

  // Of the feed's thread.
  std::uint64_t items_this_second = 0, left_out_this_second = 0;
};

}  // namespace clrscope::live
