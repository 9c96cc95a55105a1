#include "live/live_process.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/proc_identity.h"
#include "base/text.h"
#include "hub/counter_json.h"
#include "live/item_shapes.h"

namespace clrscope::live {
namespace {

// A session that ended so long ago is not being replaced: its process has ended.
constexpr std::chrono::seconds kSilence{4};
// So many things a second a stream tells; the rest is in the views, and counted.
constexpr std::uint64_t kItemsPerSecond = 200, kEventsPerSecond = 2000;

std::string json_array(std::span<const hub::CounterValue> values) {
  JsonWriter json;
  json.begin_array();
  for (const auto& value : values) hub::write_json(json, value);
  return std::move(json.end_array()).take();
}

}  // namespace

// Brings what the hub hands over to the feed, on the listener's own thread.
class LiveProcess::FeedSink final : public hub::Sink {
 public:
  FeedSink(LiveProcess& process, std::shared_ptr<Feed> feed)
      : process_(process), feed_(std::move(feed)) {}

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    process_.counters_.add(values);
    LiveItem item{.topic = Topic::kCounters, .json = json_array(values)};
    item.counters.assign(values.begin(), values.end());
    std::vector<LiveItem> items;
    items.push_back(std::move(item));
    tell(values.size(), std::move(items));
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    if (feed_->window) feed_->window->add(batch);
    std::vector<LiveItem> items;
    if (feed_->logs) {
      std::vector<LogEntry> entries;
      feed_->logs->on_batch(batch, entries);
      for (auto& entry : entries) {
        LiveItem item{.topic = Topic::kLogs, .json = json_text(entry)};
        item.log = std::move(entry);
        items.push_back(std::move(item));
      }
    } else if (feed_->maker) {
      texts_.clear();
      feed_->maker->on_batch(batch, texts_);
      add_texts(items);
    }
    tell(batch.rows.size(), std::move(items));
    return {};
  }

  Result<> on_dropped(std::uint64_t events) override {
    feed_->dropped += events;
    std::vector<LiveItem> items;
    items.push_back({.topic = feed_->request.topic, .json = json_text(LiveGap{.dropped = events})});
    tell(0, std::move(items));
    return {};
  }

  Result<> on_tick() override {
    std::vector<LiveItem> items;
    if (feed_->maker) {
      texts_.clear();
      feed_->maker->on_tick(texts_);
      add_texts(items);
    }
    if (const auto left = std::exchange(feed_->left_out_this_second, 0); left != 0)
      items.push_back(
          {.topic = feed_->request.topic, .json = json_text(LiveGap{.left_out = left})});
    feed_->items_this_second = 0;
    tell(0, std::move(items));
    return {};
  }

 private:
  void add_texts(std::vector<LiveItem>& items) {
    const auto most = feed_->request.topic == Topic::kEvents ? kEventsPerSecond : kItemsPerSecond;
    for (auto& text : texts_) {
      if (feed_->items_this_second >= most) {
        ++feed_->left_out_this_second;
        ++feed_->left_out;
        continue;
      }
      ++feed_->items_this_second;
      items.push_back({.topic = feed_->request.topic, .json = std::move(text)});
    }
  }

  void tell(std::uint64_t count, std::vector<LiveItem> items) {
    const bool first = count != 0 && feed_->told.fetch_add(count) == 0;
    if (items.empty() && !first) return;
    process_.publish(*feed_, std::move(items));
  }

  LiveProcess& process_;
  std::shared_ptr<Feed> feed_;
  std::vector<std::string> texts_;
};

LiveProcess::LiveProcess(LiveTarget target, const LiveLimits& limits)
    : target_(std::move(target)),
      info_(target_.source->info()),
      limits_(limits),
      process_(target_.start_ticks != 0 ? open_process_fd(info_->pid, target_.start_ticks)
                                        : UniqueFd{}),
      epoch_(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(wall_now().time_since_epoch())
              .count())),
      counters_(limits.counters),
      lines_(target_.open_lines),
      event_cpu_(target_.start_ticks != 0 ? fmt::format("/proc/{}/task", info_->pid) : ""),
      hub_(std::make_shared<hub::Hub>(limits.settle)) {}

LiveProcess::~LiveProcess() { end("not requested any more"); }

Result<std::shared_ptr<LiveProcess>> LiveProcess::start(LiveTarget target,
                                                        const LiveLimits& limits) {
  const std::shared_ptr<LiveProcess> process{new LiveProcess{std::move(target), limits}};
  TRY(process->hub_->attach(process->target_.source));
  return process;
}

std::string LiveProcess::ended() const {
  const std::lock_guard lock{state_};
  return ended_;
}

std::optional<WallTime> LiveProcess::ended_at() const {
  const std::lock_guard lock{state_};
  return ended_at_;
}

LiveProcess::Names LiveProcess::names() const {
  return names_.with([](const auto& names) { return names; });
}

void LiveProcess::set_names(Names names) {
  names_.with([&](auto& mine) { mine = std::move(names); });
  news_.notify_all();
}

Result<std::shared_ptr<Feed>> LiveProcess::ask(const FeedRequest& request) {
  {
    const std::lock_guard lock{state_};
    if (const auto at = feeds_.find(request.key); at != feeds_.end()) {
      at->second->asked = TraceClock::now();
      return at->second;
    }
  }
  return open(request);
}

Result<std::shared_ptr<Feed>> LiveProcess::open(const FeedRequest& request) {
  const std::lock_guard changes{changes_};
  std::shared_ptr<Feed> feed;
  {
    const std::lock_guard lock{state_};
    if (const auto at = feeds_.find(request.key); at != feeds_.end()) return at->second;
    if (!ended_.empty())
      return fail(Errc::kGone, "process {} ({}) has ended: {}", info_->pid, info_->process, ended_);
    if (feeds_.size() >= limits_.feeds)
      return fail(Errc::kDenied, "process {} already has {} data streams", info_->pid,
                  feeds_.size())
          .hint("{}", kLimitHint);
    feed = std::make_shared<Feed>(request, limits_.window, limits_.replay_bytes);
    feed->asked = TraceClock::now();
  }
  feed->listener = TRY(hub_->add(request.session, std::make_unique<FeedSink>(*this, feed)));
  const std::lock_guard lock{state_};
  feeds_[request.key] = feed;
  return feed;
}

void LiveProcess::wait_for(const Feed& feed, std::chrono::nanoseconds patience) {
  std::unique_lock lock{state_};
  news_.wait_for(lock, patience, [&] { return feed.told.load() != 0 || !ended_.empty(); });
}

bool LiveProcess::reads_counters() const {
  const std::lock_guard lock{state_};
  return std::ranges::any_of(
      feeds_, [](const auto& one) { return one.second->request.topic == Topic::kCounters; });
}

std::string LiveProcess::id_text(std::uint64_t id) const {
  return fmt::format("{}-{}", epoch_, id);
}

Result<> LiveProcess::follow(const std::vector<FeedRequest>& requests,
                             std::shared_ptr<Follower> follower, std::optional<std::string> after) {
  Following following{.follower = std::move(follower), .feeds = {}};
  for (const auto& request : requests) following.feeds.push_back(TRY(ask(request)));
  const std::lock_guard lock{state_};
  if (followers_.size() >= limits_.followers)
    return fail(Errc::kDenied, "{} clients already follow process {}", followers_.size(),
                info_->pid)
        .hint("{}", kLimitHint);
  auto& follows = *following.follower;
  if (after) {
    const auto dash = after->find('-');
    const auto epoch = parse_number(std::string_view{*after}.substr(0, dash));
    const auto id = dash == std::string::npos
                        ? std::nullopt
                        : parse_number(std::string_view{*after}.substr(dash + 1));
    const bool ours = epoch && id && *epoch == epoch_;
    const auto last = ours ? *id : 0;
    std::uint64_t missed = 0;
    bool exact = ours;  // of an earlier time we know nothing
    std::vector<LiveItemPtr> items;
    for (const auto& feed : following.feeds) {
      const auto [gone, all] = feed->replay.missed_after(last);
      missed += gone;
      exact = exact && all;
      for (const auto& item : feed->replay.items())
        if (item->id > last) items.push_back(item);
    }
    if (missed != 0 || !exact) follows.on_missed(missed, exact);
    std::ranges::sort(items, {}, [](const auto& item) { return item->id; });
    for (const auto& item : items)
      if (!follows.on_item(*item)) return {};
  }
  if (!ended_.empty()) {
    follows.on_end(ended_);
    return {};
  }
  for (const auto& feed : following.feeds) ++feed->followers;
  followers_.push_back(std::move(following));
  return {};
}

void LiveProcess::publish(Feed& feed, std::vector<LiveItem> items) {
  {
    const std::lock_guard lock{state_};
    for (auto& one : items) {
      one.id = next_id_++;
      const auto item = std::make_shared<const LiveItem>(std::move(one));
      feed.replay.add(item);
      hand_out(feed, item);
    }
  }
  news_.notify_all();
}

void LiveProcess::hand_out(const Feed& feed, const LiveItemPtr& item) {
  std::erase_if(followers_, [&](Following& one) {
    const bool wants =
        std::ranges::any_of(one.feeds, [&](const auto& each) { return each.get() == &feed; });
    if (!wants || one.follower->on_item(*item)) return false;
    let_go(one);
    return true;
  });
}

void LiveProcess::let_go(Following& following) {
  for (const auto& feed : following.feeds) {
    --feed->followers;
    feed->asked = TraceClock::now();
  }
}

void LiveProcess::tick() {
  if (ended().empty()) event_cpu_.look(TraceClock::now());
  const std::lock_guard lock{state_};
  std::erase_if(followers_, [&](Following& one) {
    if (one.follower->on_tick()) return false;
    let_go(one);
    return true;
  });
}

bool LiveProcess::keep_or_close() {
  const std::lock_guard changes{changes_};
  std::vector<std::shared_ptr<Feed>> old;
  bool left = false;
  {
    const std::lock_guard lock{state_};
    const auto before = TraceClock::now() - limits_.keep;
    std::erase_if(feeds_, [&](const auto& one) {
      if (one.second->followers != 0 || one.second->asked > before) return false;
      old.push_back(one.second);
      return true;
    });
    left = !feeds_.empty();
  }
  for (const auto& feed : old) {
    if (!hub_) continue;
    const auto summary = hub_->remove(feed->listener);
    const std::lock_guard lock{state_};
    lost_ += summary.lost;
  }
  return left;
}

bool LiveProcess::lives() {
  if (!ended().empty()) return false;
  if (seems_alive()) return true;
  end("the process has ended");
  return false;
}

bool LiveProcess::seems_alive() {
  if (process_) {
    if (has_ended(process_)) return false;
  } else if (target_.start_ticks != 0) {
    const auto now = proc_identity(info_->pid);
    if (!now || now->ended() || now->start_ticks != target_.start_ticks) return false;
  }
  std::shared_ptr<hub::Hub> hub;
  {
    const std::lock_guard lock{state_};
    hub = hub_;
  }
  if (!hub) return false;
  const auto processes = hub->processes();
  hub.reset();
  std::string why;
  for (const auto& one : processes)
    if (!one.ended.empty()) why = one.ended;
  const std::unique_lock lock{state_};
  if (why.empty()) {
    silent_ = {};
    return true;
  }
  // Sessions end too when others take their place: that takes a moment only.
  if (silent_ == TraceTime{}) silent_ = TraceClock::now();
  return TraceClock::now() - silent_ < kSilence;
}

void LiveProcess::end(const std::string& why) {
  const std::lock_guard changes{changes_};
  // Sessions first: what they still tell is kept, and told.
  std::vector<std::pair<hub::ListenerId, hub::SessionSummary>> summaries;
  if (hub_) summaries = hub_->summaries();
  std::shared_ptr<hub::Hub> hub;
  {
    const std::lock_guard lock{state_};
    hub = std::exchange(hub_, nullptr);
  }
  hub.reset();
  std::vector<Following> followers;
  {
    const std::lock_guard lock{state_};
    for (const auto& [id, summary] : summaries) lost_ += summary.lost;
    if (ended_.empty()) {
      ended_ = why;
      ended_at_ = wall_now();
    }
    followers.swap(followers_);
    for (auto& one : followers) {
      one.follower->on_end(why);
      let_go(one);
    }
  }
  news_.notify_all();
}

LiveProcess::Status LiveProcess::status() const {
  std::shared_ptr<hub::Hub> hub;
  Status status{.event_cpu = event_cpu_.total(), .event_cpu_unknown = event_cpu_.unknown()};
  {
    const std::lock_guard lock{state_};
    hub = hub_;
    status.lost = lost_;
    for (const auto& [key, feed] : feeds_)
      status.feeds.push_back({.key = key,
                              .followers = feed->followers,
                              .told = feed->told,
                              .dropped = feed->dropped,
                              .left_out = feed->left_out});
  }
  if (!hub) return status;
  for (const auto& [id, summary] : hub->summaries()) status.lost += summary.lost;
  for (const auto& one : hub->processes()) {
    status.sessions += one.sessions;
    status.events += one.events;
  }
  return status;
}

hub::SessionSummary LiveProcess::summary(const Feed& feed) const {
  std::shared_ptr<hub::Hub> hub;
  {
    const std::lock_guard lock{state_};
    hub = hub_;
    if (!hub) return {.lost = lost_};
  }
  for (auto& [id, summary] : hub->summaries())
    if (id == feed.listener) return summary;
  return {};
}

}  // namespace clrscope::live
