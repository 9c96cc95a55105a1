#include "hub/counter_json.h"

#include <fmt/format.h>

#include <cmath>

namespace clrscope::hub {

const Shape& shape_of(const CounterLine*) {
  using A = CounterLine;
  static const auto shape = describe<A>(
      "CounterValue", "a value of a counter or of a meter's instrument",
      {member<&A::time>("time", "when it was published"), member<&A::pid>("pid", "process id"),
       member<&A::process>("process", "name of the process"),
       member<&A::provider>("provider", "EventSource or meter"),
       member<&A::name>("name", "name of the counter"), member<&A::tags>("tags", "tags by name"),
       member<&A::value>("value", "the value: per second for rates, the median for histograms"),
       member<&A::unit>("unit", "its unit; empty if none"),
       member<&A::kind>("kind", "what the value means"),
       member<&A::display>("display", "display name, if it differs from the name"),
       member<&A::total>("total", "total since the counter's start, for rates"),
       member<&A::count>("count", "measurements in the interval, for means and histograms"),
       member<&A::sum>("sum", "sum of the measurements"),
       member<&A::min>("min", "smallest measurement"),
       member<&A::max>("max", "largest measurement"),
       member<&A::quantiles>("quantiles", "values by quantile, as the program publishes them"),
       member<&A::buckets>("buckets", "measurements by upper bound, not cumulative"),
       member<&A::interval>("intervalMs", "length of the interval")});
  return shape;
}

CounterLine line_of(const CounterValue& value) {
  CounterLine line{.time = value.time,
                   .pid = value.pid,
                   .process = value.process,
                   .provider = value.provider,
                   .name = value.name,
                   .tags = value.tags,
                   .value = shown_value(value),
                   .unit = value.unit,
                   .kind = value.kind,
                   .total = value.total,
                   .sum = value.sum,
                   .min = value.min,
                   .max = value.max,
                   .interval = value.interval};
  if (!value.display.empty() && value.display != value.name) line.display = value.display;
  if (value.kind == CounterKind::kHistogram || value.kind == CounterKind::kMean)
    line.count = value.count;
  if (!value.quantiles.empty()) {
    auto& quantiles = line.quantiles.emplace();
    for (const auto& [share, one] : value.quantiles)
      quantiles.emplace_back(fmt::format("{:g}", share), one);
  }
  if (!value.buckets.empty()) {
    auto& buckets = line.buckets.emplace();
    for (const auto& one : value.buckets)
      buckets.emplace_back(std::isinf(one.upper) ? "+Inf" : fmt::format("{:g}", one.upper),
                           one.count);
  }
  return line;
}

void write_json(JsonWriter& json, const CounterValue& value) {
  clrscope::write_json(json, line_of(value));
}

void write_members(JsonWriter& json, const CounterValue& value) {
  clrscope::write_members(json, line_of(value));
}

void append_json_line(std::string& out, const CounterValue& value) {
  out += json_line(line_of(value));
}

}  // namespace clrscope::hub
