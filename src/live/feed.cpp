#include "live/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "hub/derived.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

void append(std::string& key, const hub::ProviderRequest& one) {
  fmt::format_to(std::back_inserter(key), "|{}:{:x}:{}:{}", one.name, one.keywords, one.level,
                 one.arguments);
  for (const auto id : one.ids) fmt::format_to(std::back_inserter(key), ",{}", id);
}

}  // namespace

FeedRequest counters_feed(std::vector<hub::CounterRequest> counters,
                          std::chrono::nanoseconds interval) {
  FeedRequest request{.topic = Topic::kCounters, .key = "counters"};
  for (const auto& one : counters)
    fmt::format_to(std::back_inserter(request.key), "|{}:{}:{}", static_cast<int>(one.kind),
                   one.provider, fmt::join(one.names, ","));
  request.session.counters = std::move(counters);
  request.session.interval = interval;
  return request;
}

FeedRequest runtime_feed(Topic topic, Messages messages) {
  FeedRequest request{.topic = topic, .key = std::string{name_of(topic)}};
  const auto* kind = find_topic(topic);
  CHECK(kind != nullptr);
  if (kind->messages && messages == Messages::kWithheld) {
    request.key += "|without messages";
    request.messages = messages;
  }
  request.session.stacks = kind->stacks;
  request.session.providers.push_back(
      {.name = std::string{kRuntimeProvider}, .keywords = kind->keywords, .level = kind->level});
  return request;
}

FeedRequest logs_feed(const LogRequest& request) {
  FeedRequest feed{.topic = Topic::kLogs, .key = "logs"};
  feed.session.providers = log_providers(request);
  for (const auto& one : feed.session.providers) append(feed.key, one);
  return feed;
}

Result<hub::Where> parse_where(std::string_view text) { return hub::Where::parse(text); }

FeedRequest events_feed(std::vector<hub::ProviderRequest> providers, hub::Where where,
                        std::string_view where_text) {
  FeedRequest feed{.topic = Topic::kEvents, .key = "events"};
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

Feed::Feed(FeedRequest requested, const WindowLimits& limits, std::size_t replay_bytes)
    : request(std::move(requested)), replay(replay_bytes) {
  maker = make_items(request.topic, exceptions, request.messages);
  if (request.topic == Topic::kLogs) logs.emplace();
  if (!maker || request.topic == Topic::kEvents) return;
  auto window_limits = limits;
  window_limits.names = request.session.stacks;
  window = std::make_unique<Window>(window_limits);
}

}  // namespace clrscope::live
