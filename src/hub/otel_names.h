// What OpenTelemetry calls a counter: name, unit and kind after its conventions for .NET.
//
// Instruments of meters keep their names: those of .NET are the conventions' own. EventCounters are
// translated by a table where the conventions have the same thing, and else by rule:
// "Shop-Orders" "queue-length" → shop_orders.queue_length. A pure function of the value.
// The table for readers: docs/monitoring.md
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hub/counter.h"

namespace clrscope::hub {

enum class OtelKind : std::uint8_t { kCounter, kUpDownCounter, kGauge, kHistogram };
std::string_view name_of(OtelKind kind);  // "counter", "updowncounter", "gauge", "histogram"

struct OtelName {
  std::string name{};
  std::string unit{};  // UCUM: "By", "s", "{request}"
  OtelKind kind = OtelKind::kGauge;
  double scale = 1;  // what value, total, sum, min, max, quantiles and bounds are to be times'd by
  bool total = false;  // a counter whose `value` is its total since the beginning, not a growth
  std::vector<std::pair<std::string, std::string>> tags{};  // to be added to the value's own
  bool convention = false;  // the conventions have it, or a meter of .NET named it
};

OtelName otel_name(const CounterValue& value);

}  // namespace clrscope::hub
