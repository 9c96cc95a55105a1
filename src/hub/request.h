// What a listener asked for: of which processes, which events, which counters, how often.
//
// Data only. A request is matched exactly: a listener gets what it asked for and nothing that only
// another one wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hub/where.h"

#include "model/provider_names.h"

namespace clrscope::hub {

struct ProviderRequest {
  std::string name;
  std::uint64_t keywords = 0;
  std::uint8_t level = 4;
  std::string arguments{};           // "key=value;key2=value2"
  std::vector<std::uint32_t> ids{};  // only these events; empty: all

  friend bool operator==(const ProviderRequest&, const ProviderRequest&) = default;
};

// Meters are published by kMetricsProvider; metrics that clrscope itself makes of the runtime's
// events (derived.h) have kDerivedProvider. Counters are published by events of this name, of any
// provider that has them.
constexpr std::string_view kEventCountersName = "EventCounters";

// "EventCounterIntervalSec=1": adds the counters to a provider's events and changes nothing else.
bool only_counters(std::string_view arguments);

// "SessionId=SHARED;Metrics=Shop,System.Net\\x;RefreshInterval=1": which meters the provider of
// meters is to publish, and its other arguments.
struct MetersArguments {
  std::string rest;  // with an empty list
  std::vector<std::string> meters;

  static std::optional<MetersArguments> parse(const ProviderRequest& request);
  bool has(const MetersArguments& wanted) const;
  MetersArguments with(const MetersArguments& more) const;
  std::string text() const;
};

// Arguments that are neither: the provider keeps them for the whole program, whichever session they
// came with last, and forgets them when any session that has it is stopped (docs/sessions.md).
bool is_configured(const ProviderRequest& request);

// Whether a session with `has` brings every event that `wants` asks for. Arguments change what a
// provider sends, so they must be the same, but for those that only add counters.
bool covers(const ProviderRequest& has, const ProviderRequest& wants);
// Whether the runtime gives an event of that kind to a session with this request.
bool matches(const ProviderRequest& request, const EventType& type);

// "System.Runtime[cpu-usage,gc-heap-size]"; no names: all of them.
struct CounterRequest {
  enum class Kind : std::uint8_t { kEither, kEventCounters, kMeter };
  std::string provider;  // of EventCounters, or a meter; * and ? stand for anything
  std::vector<std::string> names{};
  Kind kind = Kind::kEither;

  bool is_pattern() const { return provider.find_first_of("*?") != std::string::npos; }
};

// What in a process tells counters; for requests with a pattern.
struct CounterSources {
  std::vector<std::string> event_sources{};
  std::vector<std::string> meters{};  // only of a runtime that takes no pattern for them
  std::string incomplete{};           // why there may be more; empty: these are all
};

// From this version on a runtime takes "*" and "Shop.*" for meters, later ones included.
constexpr std::uint32_t kMeterPatternsSince = 9;

// How much a runtime collects of its meters, for all who share its one collector: a second session
// with other limits gets the first one's (docs/sessions.md). So all listeners of a hub ask for the
// same.
struct MeterLimits {
  static constexpr std::uint32_t kMostHistograms = 10'000, kMostSeries = 1'000'000;
  std::uint32_t histograms = 50;  // each set of tags is one
  std::uint32_t series = 1000;

  friend bool operator==(const MeterLimits&, const MeterLimits&) = default;
};

struct SessionRequest {
  std::vector<ProviderRequest> providers{};
  bool stacks = false;
  Where where{};
  std::vector<CounterRequest> counters{};
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};  // of counters
  MeterLimits limits{};
  // Block mode: when its queue is full its sessions, which are its own then, are not read on. What
  // the runtime cannot keep meanwhile is lost there, and counted. Else: dropped, and counted.
  bool waits = false;
};

// The same with the names that a process has in the place of patterns. EventSources that have no
// counters and do more than a little when they are switched on are left alone; a name of either
// kind means the meter where the runtime has it.
std::vector<CounterRequest> expand(const std::vector<CounterRequest>& requests,
                                   const CounterSources& has, std::uint32_t runtime_major);

// The providers that a runtime session needs for these counters. A name of either kind means the
// meter where the runtime has it (.NET 9 and later: System.Runtime and kin).
std::vector<ProviderRequest> providers_for(const std::vector<CounterRequest>& counters,
                                           std::uint32_t runtime_major,
                                           const MeterLimits& limits = {});

}  // namespace clrscope::hub
