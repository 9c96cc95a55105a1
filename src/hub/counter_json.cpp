#include "hub/counter_json.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"

namespace clrscope::hub {

void append_json_line(std::string& out, const CounterValue& value) {
  JsonWriter json;
  json.begin_object()
      .member("time", iso8601(value.time))
      .member("pid", value.pid)
      .member("process", value.process)
      .member("provider", value.provider)
      .member("name", value.name)
      .key("tags")
      .begin_object();
  for (const auto& [key, one] : value.tags) json.member(key, one);
  json.end_object()
      .member("value", shown_value(value))
      .member("unit", value.unit)
      .member("kind", name_of(value.kind));
  if (!value.display.empty() && value.display != value.name) json.member("display", value.display);
  if (value.total) json.member("total", *value.total);
  if (value.kind == CounterKind::kHistogram || value.kind == CounterKind::kMean)
    json.member("count", value.count);
  if (value.sum) json.member("sum", *value.sum);
  if (value.min) json.member("min", *value.min);
  if (value.max) json.member("max", *value.max);
  if (!value.quantiles.empty()) {
    json.key("quantiles").begin_object();
    for (const auto& [share, one] : value.quantiles) json.member(fmt::format("{:g}", share), one);
    json.end_object();
  }
  if (!value.buckets.empty()) {  // by upper bound; not added up
    json.key("buckets").begin_object();
    for (const auto& one : value.buckets)
      json.member(std::isinf(one.upper) ? "+Inf" : fmt::format("{:g}", one.upper), one.count);
    json.end_object();
  }
  json.member("intervalMs", std::chrono::duration<double, std::milli>(value.interval).count());
  json.end_object();
  out += json.text();
  out += '\n';
}

}  // namespace clrscope::hub
