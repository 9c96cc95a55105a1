#include "hub/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "hub/derived.h"
#include "model/event.h"
#include "model/provider_names.h"
#include "nettrace/manifest.h"

namespace clrscope::hub {
namespace {

constexpr std::uint64_t kTimeSeriesValues = 0x2;
// EventCounters are published at level 0. With level 1 and no keywords a session that only wants
// counters switches on no event of its source but critical ones without keywords.
constexpr std::uint8_t kCountersLevel = 1;
constexpr std::string_view kMetersKey = "Metrics=";

// Meters that .NET itself has from this version on under the name of its older EventCounters.
constexpr std::pair<std::string_view, std::uint32_t> kOwnMeters[] = {
    {kSystemRuntimeProvider, 9},
    {kHostingProvider, 8},
    {kHttpProvider, 8},
    {kNameResolutionProvider, 8},
};

// EventSources of .NET that have no counters, and would work for nothing when they are switched on,
// or apply their arguments to the whole program (docs/sessions.md).
constexpr std::string_view kWithoutCounters[] = {
    "Microsoft-Windows-DotNETRuntime*",
    "Microsoft-DotNETCore-*",
    kDiagnosticSourceProvider,
    kLoggingProvider,
    "Microsoft-Extensions-DependencyInjection",
    kMetricsProvider,
    kFrameworkProvider,
    "System.Buffers.ArrayPoolEventSource",
    "System.Threading.Tasks.*",
    "System.Collections.Concurrent.*",
    "System.Linq.Parallel.*",
    "Private.InternalDiagnostics.*",
};

bool is_meter(const CounterRequest& request, std::uint32_t runtime_major) {
  if (request.kind != CounterRequest::Kind::kEither)
    return request.kind == CounterRequest::Kind::kMeter;
  for (const auto& [name, since] : kOwnMeters)
    if (request.provider == name) return runtime_major >= since;
  return true;  // unknown to us: asked for as both
}

bool is_event_counters(const CounterRequest& request, std::uint32_t runtime_major) {
  if (request.kind != CounterRequest::Kind::kEither)
    return request.kind == CounterRequest::Kind::kEventCounters;
  for (const auto& [name, since] : kOwnMeters)
    if (request.provider == name) return runtime_major < since;
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

std::optional<MetersArguments> MetersArguments::parse(const ProviderRequest& request) {
  if (request.name != kMetricsProvider) return {};
  const auto at = request.arguments.find(kMetersKey);
  if (at == std::string::npos) return {};
  const auto from = at + kMetersKey.size();
  const auto end = std::min(request.arguments.find(';', from), request.arguments.size());
  MetersArguments out{request.arguments.substr(0, from) + request.arguments.substr(end), {}};
  const std::string_view list{request.arguments};
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

bool is_configured(const ProviderRequest& request) {
  return !request.arguments.empty() && !only_counters(request.arguments) &&
         !MetersArguments::parse(request);
}

bool covers(const ProviderRequest& has, const ProviderRequest& wants) {
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

bool matches(const ProviderRequest& request, const EventType& type) {
  if (type.provider != request.name) return false;
  if (type.id == nettrace::kManifestEventId) return true;  // describes the others
  if (type.level > request.level) return false;
  if (type.keywords != 0 && (type.keywords & request.keywords) == 0) return false;
  return request.ids.empty() ||
         std::find(request.ids.begin(), request.ids.end(), type.id) != request.ids.end();
}

std::vector<CounterRequest> expand(const std::vector<CounterRequest>& requests,
                                   const CounterSources& has, std::uint32_t runtime_major) {
  using Kind = CounterRequest::Kind;
  std::vector<CounterRequest> out;
  const auto add = [&](const CounterRequest& request, const std::string& name, Kind kind) {
    out.push_back({.provider = name, .names = request.names, .kind = kind});
  };
  for (const auto& request : requests) {
    if (!request.is_pattern()) {
      out.push_back(request);
      continue;
    }
    for (const auto& name : has.event_sources)
      if (glob_match(request.provider, name) &&
          is_event_counters({.provider = name, .kind = request.kind}, runtime_major) &&
          std::none_of(std::begin(kWithoutCounters), std::end(kWithoutCounters),
                       [&](const auto pattern) { return glob_match(pattern, name); }))
        add(request, name, Kind::kEventCounters);
    if (request.kind == Kind::kEventCounters) continue;
    if (runtime_major >= kMeterPatternsSince)
      // Of these the listener takes those that it wants: there is no pattern with an instrument.
      out.push_back({.provider = runtime_pattern(request.provider), .kind = Kind::kMeter});
    else
      for (const auto& name : has.meters)
        if (glob_match(request.provider, name)) add(request, name, Kind::kMeter);
  }
  return out;
}

std::vector<ProviderRequest> providers_for(const std::vector<CounterRequest>& counters,
                                           std::uint32_t runtime_major, const MeterLimits& limits) {
  std::vector<ProviderRequest> providers;
  std::string meters;
  for (const auto& request : counters) {
    if (request.provider == kDerivedProvider) {
      for (auto& one : providers_for_derived(request.names)) providers.push_back(std::move(one));
      continue;
    }
    if (is_event_counters(request, runtime_major)) {
      ProviderRequest one{.name = request.provider,
                          .level = kCountersLevel,
                          .arguments = "EventCounterIntervalSec=1"};
      if (std::find(providers.begin(), providers.end(), one) == providers.end())
        providers.push_back(std::move(one));
    }
    if (!is_meter(request, runtime_major)) continue;
    if (request.names.empty()) meters += (meters.empty() ? "" : ",") + request.provider;
    for (const auto& name : request.names)
      meters += fmt::format("{}{}\\{}", meters.empty() ? "" : ",", request.provider, name);
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
