#include "hub/wish.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hub/derived.h"
#include "model/event.h"
#include "nettrace/manifest.h"

namespace clrscope::hub {
namespace {

constexpr std::uint64_t kTimeSeriesValues = 0x2;
constexpr std::string_view kMetersKey = "Metrics=";

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

bool only_counters(std::string_view arguments) {
  return arguments.starts_with("EventCounterIntervalSec=") &&
         arguments.find_first_of(";,") == std::string_view::npos;
}

std::optional<MetersArguments> MetersArguments::parse(const ProviderWish& wish) {
  if (wish.name != kMetricsProvider) return {};
  const auto at = wish.arguments.find(kMetersKey);
  if (at == std::string::npos) return {};
  const auto from = at + kMetersKey.size();
  const auto end = std::min(wish.arguments.find(';', from), wish.arguments.size());
  MetersArguments out{wish.arguments.substr(0, from) + wish.arguments.substr(end), {}};
  const std::string_view list{wish.arguments};
  for (const auto name : split(list.substr(from, end - from), ',')) out.meters.emplace_back(name);
  return out;
}

bool MetersArguments::has(const MetersArguments& wanted) const {
  if (rest != wanted.rest) return false;
  return std::all_of(wanted.meters.begin(), wanted.meters.end(), [&](const auto& one) {
    const auto meter = one.substr(0, one.find('\\'));
    return std::any_of(meters.begin(), meters.end(),
                       [&](const auto& mine) { return mine == one || mine == meter; });
  });
}

MetersArguments MetersArguments::with(const MetersArguments& more) const {
  auto out = *this;
  for (const auto& one : more.meters)
    if (!out.has({rest, {one}})) out.meters.push_back(one);
  // An instrument is named no longer when its whole meter is.
  std::erase_if(out.meters, [&](const std::string& one) {
    const auto meter = one.substr(0, one.find('\\'));
    return meter != one &&
           std::find(out.meters.begin(), out.meters.end(), meter) != out.meters.end();
  });
  std::sort(out.meters.begin(), out.meters.end());
  return out;
}

std::string MetersArguments::text() const {
  auto out = rest;
  out.insert(out.find(kMetersKey) + kMetersKey.size(), fmt::format("{}", fmt::join(meters, ",")));
  return out;
}

bool is_configured(const ProviderWish& wish) {
  return !wish.arguments.empty() && !only_counters(wish.arguments) && !MetersArguments::parse(wish);
}

bool covers(const ProviderWish& has, const ProviderWish& wants) {
  if (has.name != wants.name) return false;
  if (has.arguments != wants.arguments &&
      !(wants.arguments.empty() && only_counters(has.arguments))) {
    const auto meters = MetersArguments::parse(has), wanted = MetersArguments::parse(wants);
    if (!meters || !wanted || !meters->has(*wanted)) return false;
  }
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
                                        std::uint32_t runtime_major, const MeterLimits& limits) {
  std::vector<ProviderWish> providers;
  std::string meters;
  for (const auto& wish : counters) {
    if (wish.provider == kDerivedProvider) {
      for (auto& one : providers_for_derived(wish.names)) providers.push_back(std::move(one));
      continue;
    }
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
    providers.push_back({.name = std::string{kMetricsProvider},
                         .keywords = kTimeSeriesValues,
                         .level = 5,
                         .arguments = fmt::format("SessionId=SHARED;Metrics={};RefreshInterval=1;"
                                                  "MaxTimeSeries={};MaxHistograms={}",
                                                  meters, limits.series, limits.histograms)});
  return providers;
}

}  // namespace clrscope::hub
