// Events of live processes as they happen, decoded, a line each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "ops/watch.h"
#include "ops/wish.h"

namespace clrscope::ops {

struct EventsWish {
  WatchWish targets{};
  ProviderWords providers{};  // nothing: dotnet-common
  std::string where{};        // hub/where.h
  bool json = false;          // as `convert --format ndjson` writes them
  std::optional<std::chrono::nanoseconds> duration{};
  std::span<const int> stop_fds{};
};

struct EventsWatcher {
  std::function<void(std::string_view)> on_text{};        // whole lines; from a thread of its own
  std::function<void(const std::string&)> on_trouble{};   // likewise
  std::function<void(std::size_t processes)> on_start{};  // so many are there
};

struct EventsSummary {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;  // by the runtimes, and because printing was slower
  std::string ending{};    // "signal", "duration", "target ended"
};

// What the hub is to be asked for; CPU samples are no events, and an error.
Result<std::vector<hub::ProviderWish>> event_providers(const ProviderWords& words);

Result<EventsSummary> watch_events(const EventsWish& wish, const EventsWatcher& watcher);

}  // namespace clrscope::ops
