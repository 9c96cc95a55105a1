// What a listener asked for: of which processes, which events, which counters, how often.
//
// Data only. A wish is matched exactly: a listener gets what it asked for and nothing that only
// another one wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "hub/where.h"

namespace clrscope::hub {

struct ProviderWish {
  std::string name;
  std::uint64_t keywords = 0;
  std::uint8_t level = 4;
  std::string arguments{};           // "key=value;key2=value2"
  std::vector<std::uint32_t> ids{};  // only these events; empty: all

  friend bool operator==(const ProviderWish&, const ProviderWish&) = default;
};

// Whether a session with `has` brings every event that `wants` asks for. Arguments change what a
// provider sends, so they must be the same.
bool covers(const ProviderWish& has, const ProviderWish& wants);
// Whether the runtime gives an event of that kind to a session with this wish.
bool matches(const ProviderWish& wish, const EventType& type);

// "System.Runtime[cpu-usage,gc-heap-size]"; no names: all of them.
struct CounterWish {
  enum class Kind : std::uint8_t { kEither, kEventCounters, kMeter };
  std::string provider;  // of EventCounters, or a meter
  std::vector<std::string> names{};
  Kind kind = Kind::kEither;
};

struct SessionWish {
  std::vector<ProviderWish> providers{};
  bool stacks = false;
  Where where{};
  std::vector<CounterWish> counters{};
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};  // of counters
};

// The providers that a runtime session needs for these counters. `meters` says whether the runtime
// has the meter that a name of either kind means (.NET 9 and later: System.Runtime and kin).
std::vector<ProviderWish> providers_for(const std::vector<CounterWish>& counters,
                                        std::uint32_t runtime_major);

}  // namespace clrscope::hub
