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
// EventCounters are told at level 0. With level 1 and no keywords a session that only wants
// counters switches on no event of its source but critical ones without keywords.
constexpr std::uint8_t kCountersLevel = 1;
constexpr std::string_view kMetersKey = "Metrics=";

// Meters that .NET itself has from this version on under the name of its older EventCounters.
constexpr std::pair<std::string_view, std::uint32_t> kOwnMeters[] = {
    {"System.Runtime", 9},
    {"Microsoft.AspNetCore.Hosting", 8},
    {"System.Net.Http", 8},
    {"System.Net.NameResolution", 8},
};

// EventSources of .NET that have no counters, and would work for nothing when they are switched on,
// or take what they are told as a setting of the whole program (docs/sessions.md).
constexpr std::string_view kWithoutCounters[] = {
    "Microsoft-Windows-DotNETRuntime*",
    "Microsoft-DotNETCore-*",
    "Microsoft-Diagnostics-DiagnosticSource",
    "Microsoft-Extensions-Logging",
    "Microsoft-Extensions-DependencyInjection",
    "System.Diagnostics.Metrics",
    "System.Diagnostics.Eventing.FrameworkEventSource",
    "System.Buffers.ArrayPoolEventSource",
    "System.Threading.Tasks.*",
    "System.Collections.Concurrent.*",
    "System.Linq.Parallel.*",
    "Private.InternalDiagnostics.*",
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

// A meter, "Meter\\instrument", or a pattern of those that a runtime takes: "Shop.*".
bool is_covered(const std::string& wanted, const std::string& by) {
  const auto meter = wanted.substr(0, wanted.find('\\'));
  if (by.ends_with('*')) return meter.starts_with(std::string_view{by}.substr(0, by.size() - 1));
  return by == wanted || by == meter;
}

// The pattern of those that a runtime takes that covers this one.
std::string runtime_pattern(const std::string& pattern) {
  const auto first = pattern.find_first_of("*?");
  return first + 1 == pattern.size() && pattern[first] == '*' ? pattern : "*";
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
    return std::any_of(meters.begin(), meters.end(),
                       [&](const auto& mine) { return is_covered(one, mine); });
  });
}

MetersArguments MetersArguments::with(const MetersArguments& more) const {
  auto out = *this;
  for (const auto& one : more.meters)
    if (!out.has({rest, {one}})) out.meters.push_back(one);
  // An instrument is named no longer when its whole meter is, nor a meter when a pattern has it.
  const auto all = out.meters;
  std::erase_if(out.meters, [&](const std::string& one) {
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& other) { return other != one && is_covered(one, other); });
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

std::vector<CounterWish> expand(const std::vector<CounterWish>& wishes, const CounterSources& has,
                                std::uint32_t runtime_major) {
  using Kind = CounterWish::Kind;
  std::vector<CounterWish> out;
  const auto add = [&](const CounterWish& wish, const std::string& name, Kind kind) {
    out.push_back({.provider = name, .names = wish.names, .kind = kind});
  };
  for (const auto& wish : wishes) {
    if (!wish.is_pattern()) {
      out.push_back(wish);
      continue;
    }
    for (const auto& name : has.event_sources)
      if (glob_match(wish.provider, name) &&
          is_event_counters({.provider = name, .kind = wish.kind}, runtime_major) &&
          std::none_of(std::begin(kWithoutCounters), std::end(kWithoutCounters),
                       [&](const auto pattern) { return glob_match(pattern, name); }))
        add(wish, name, Kind::kEventCounters);
    if (wish.kind == Kind::kEventCounters) continue;
    if (runtime_major >= kMeterPatternsSince)
      // Of these the listener takes those that it wants: there is no pattern with an instrument.
      out.push_back({.provider = runtime_pattern(wish.provider), .kind = Kind::kMeter});
    else
      for (const auto& name : has.meters)
        if (glob_match(wish.provider, name)) add(wish, name, Kind::kMeter);
  }
  return out;
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
    if (is_event_counters(wish, runtime_major)) {
      ProviderWish one{
          .name = wish.provider, .level = kCountersLevel, .arguments = "EventCounterIntervalSec=1"};
      if (std::find(providers.begin(), providers.end(), one) == providers.end())
        providers.push_back(std::move(one));
    }
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
