#include "hub/wish.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/event.h"
#include "nettrace/manifest.h"

namespace clrscope::hub {
namespace {

constexpr std::string_view kMetrics = "System.Diagnostics.Metrics";
constexpr std::uint64_t kTimeSeriesValues = 0x2;

// Meters that .NET itself has from this version on under the name of its older EventCounters.
constexpr std::pair<std::string_view, std::uint32_t> kOwnMeters[] = {
    {"System.Runtime", 9},
    {"Microsoft.AspNetCore.Hosting", 8},
    {"System.Net.Http", 8},
    {"System.Net.NameResolution", 8},
};

bool is_meter(const CounterWish& wish, std::uint32_t runtime_major) {
  if (wish.kind != CounterWish::Kind::kEither) return wish.kind == CounterWish::Kind::kMeter;
  for (const auto& [name, since] : kOwnMeters)
    if (wish.provider == name) return runtime_major >= since;
  return true;  // unknown to us: asked for as both
}

bool is_event_counters(const CounterWish& wish, std::uint32_t runtime_major) {
  if (wish.kind != CounterWish::Kind::kEither)
    return wish.kind == CounterWish::Kind::kEventCounters;
  for (const auto& [name, since] : kOwnMeters)
    if (wish.provider == name) return runtime_major < since;
  return true;
}

}  // namespace

bool covers(const ProviderWish& has, const ProviderWish& wants) {
  if (has.name != wants.name || has.arguments != wants.arguments) return false;
  if ((wants.keywords & ~has.keywords) != 0 || has.level < wants.level) return false;
  if (has.ids.empty()) return true;
  return !wants.ids.empty() && std::all_of(wants.ids.begin(), wants.ids.end(), [&](auto id) {
    return std::find(has.ids.begin(), has.ids.end(), id) != has.ids.end();
  });
}

bool matches(const ProviderWish& wish, const EventType& type) {
  if (type.provider != wish.name) return false;
  if (type.id == nettrace::kManifestEventId) return true;  // describes the others
  if (type.level > wish.level) return false;
  if (type.keywords != 0 && (type.keywords & wish.keywords) == 0) return false;
  return wish.ids.empty() || std::find(wish.ids.begin(), wish.ids.end(), type.id) != wish.ids.end();
}

std::vector<ProviderWish> providers_for(const std::vector<CounterWish>& counters,
                                        std::uint32_t runtime_major) {
  std::vector<ProviderWish> providers;
  std::string meters;
  for (const auto& wish : counters) {
    if (is_event_counters(wish, runtime_major))
      providers.push_back(
          {.name = wish.provider, .level = 4, .arguments = "EventCounterIntervalSec=1"});
    if (!is_meter(wish, runtime_major)) continue;
    if (wish.names.empty()) meters += (meters.empty() ? "" : ",") + wish.provider;
    for (const auto& name : wish.names)
      meters += fmt::format("{}{}\\{}", meters.empty() ? "" : ",", wish.provider, name);
  }
  // Everybody asks for the same interval and limits: the runtime refuses a second set of them.
  if (!meters.empty())
    providers.push_back({.name = std::string{kMetrics},
                         .keywords = kTimeSeriesValues,
                         .level = 5,
                         .arguments = fmt::format("SessionId=SHARED;Metrics={};RefreshInterval=1;"
                                                  "MaxTimeSeries=1000;MaxHistograms=10",
                                                  meters)});
  return providers;
}

}  // namespace clrscope::hub
