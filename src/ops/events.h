// Events of live processes as they happen, decoded, a line each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/shape.h"
#include "ops/event_selection.h"
#include "ops/watch.h"

namespace clrscope::ops {

struct EventsRequest {
  WatchRequest targets{};
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
  collect::StopReason stopped_by{};
};

// What the hub is to be asked for; CPU samples are no events, and an error.
Result<std::vector<hub::ProviderRequest>> event_providers(const ProviderWords& words);

// Of the lines of JSON.
const Shape& event_shape();

Result<EventsSummary> watch_events(const EventsRequest& request, const EventsWatcher& watcher);

}  // namespace clrscope::ops
