#include "ops/live/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "hub/derived.h"

namespace clrscope::ops {
namespace {

constexpr std::uint64_t kGcKeyword = 0x1, kJitKeyword = 0x10, kContentionKeyword = 0x4000,
                        kExceptionKeyword = 0x8000, kThreadingKeyword = 0x10000;
constexpr std::uint64_t kNames = 0x38;  // loader, JIT, precompiled: what gives stacks names

void append(std::string& key, const hub::ProviderWish& one) {
  fmt::format_to(std::back_inserter(key), "|{}:{:x}:{}:{}", one.name, one.keywords, one.level,
                 one.arguments);
  for (const auto id : one.ids) fmt::format_to(std::back_inserter(key), ",{}", id);
}

}  // namespace

FeedWish counters_feed(std::vector<hub::CounterWish> counters, std::chrono::nanoseconds interval) {
  FeedWish wish{.topic = Topic::kCounters, .key = "counters"};
  for (const auto& one : counters)
    fmt::format_to(std::back_inserter(wish.key), "|{}:{}:{}", static_cast<int>(one.kind),
                   one.provider, fmt::join(one.names, ","));
  wish.session.counters = std::move(counters);
  wish.session.interval = interval;
  return wish;
}

FeedWish runtime_feed(Topic topic, Messages messages) {
  FeedWish wish{.topic = topic, .key = std::string{name_of(topic)}};
  if (topic == Topic::kExceptions && messages == Messages::kWithheld) {
    wish.key += "|without messages";
    wish.messages = messages;
  }
  hub::ProviderWish runtime{.name = std::string{hub::kRuntimeProvider}, .level = 4};
  switch (topic) {
    case Topic::kGc:
      runtime.keywords = kGcKeyword;
      break;
    case Topic::kJit:
      runtime.keywords = kJitKeyword;
      runtime.level = 5;  // the beginnings are verbose
      break;
    case Topic::kExceptions:
      runtime.keywords = kExceptionKeyword | kNames;
      runtime.level = 5;  // names are verbose
      wish.session.stacks = true;
      break;
    case Topic::kContention:
      runtime.keywords = kContentionKeyword | kNames;
      runtime.level = 5;
      wish.session.stacks = true;
      break;
    case Topic::kThreadPool:
      runtime.keywords = kThreadingKeyword;
      break;
    case Topic::kCounters:
    case Topic::kLogs:
    case Topic::kEvents:
      break;
  }
  wish.session.providers.push_back(std::move(runtime));
  return wish;
}

FeedWish logs_feed(const LogWish& wish) {
  FeedWish feed{.topic = Topic::kLogs, .key = "logs"};
  feed.session.providers = log_providers(wish);
  for (const auto& one : feed.session.providers) append(feed.key, one);
  return feed;
}

Result<hub::Where> parse_where(std::string_view text) { return hub::Where::parse(text); }

FeedWish events_feed(std::vector<hub::ProviderWish> providers, hub::Where where,
                     std::string_view where_text) {
  FeedWish feed{.topic = Topic::kEvents, .key = "events"};
  for (const auto& one : providers) append(feed.key, one);
  fmt::format_to(std::back_inserter(feed.key), "|{}", where_text);
  feed.session.providers = std::move(providers);
  feed.session.where = std::move(where);
  return feed;
}

void Replay::add(LiveItemPtr item) {
  bytes_ += item->json.size() + sizeof(LiveItem);
  items_.push_back(std::move(item));
  while (bytes_ > limit_ && items_.size() > 1) {
    const auto& first = *items_.front();
    bytes_ -= first.json.size() + sizeof(LiveItem);
    gone_.push_back(first.id);
    items_.pop_front();
  }
  while (gone_.size() > kMostIds) {
    forgotten_ = gone_.front();
    gone_.pop_front();
  }
}

std::pair<std::uint64_t, bool> Replay::missed_after(std::uint64_t id) const {
  const auto first = std::upper_bound(gone_.begin(), gone_.end(), id);
  return {static_cast<std::uint64_t>(gone_.end() - first), forgotten_ <= id};
}

Feed::Feed(FeedWish wished, const WindowLimits& limits, std::size_t replay_bytes)
    : wish(std::move(wished)), replay(replay_bytes) {
  maker = make_items(wish.topic, exceptions, wish.messages);
  if (wish.topic == Topic::kLogs) logs.emplace();
  if (!maker || wish.topic == Topic::kEvents) return;
  auto window_limits = limits;
  window_limits.names = wish.session.stacks;
  window = std::make_unique<Window>(window_limits);
}

}  // namespace clrscope::ops
