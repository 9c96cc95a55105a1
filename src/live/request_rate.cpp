#include "live/request_rate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace clrscope::live {
namespace {

constexpr std::chrono::seconds kOld{10};

double per_second(const hub::CounterValue& value) {
  if (!value.meter) return hub::shown_value(value);
  const auto seconds = std::chrono::duration<double>(value.interval).count();
  return seconds > 0 ? static_cast<double>(value.count) / seconds : 0;
}

}  // namespace

RequestRate request_rate_of(std::span<const CounterSeries> hosting, WallTime now) {
  const auto times = [](const CounterSeries& one) { return one.last.time; };
  const auto newest = std::ranges::max_element(hosting, {}, times);
  if (newest == hosting.end())
    return {.unknown =
                "its counters have no requests: it has served none yet, or is not an "
                "ASP.NET Core app"};
  if (now - newest->last.time > kOld)
    return {.unknown = fmt::format("its last counters are {} old",
                                   format_duration(now - newest->last.time))};
  for (const auto* name : {"http.server.request.duration", "requests-per-second"}) {
    std::optional<double> sum;
    for (const auto& one : hosting) {
      if (one.last.name != name) continue;
      // Routes without requests in the last interval are not told again.
      const bool is_current = newest->last.time - one.last.time < 1.5 * one.last.interval;
      sum = sum.value_or(0) + (is_current ? per_second(one.last) : 0);
    }
    if (sum) return {.per_second = sum};
  }
  return {.unknown = "the counters that are read now do not include requests"};
}

}  // namespace clrscope::live
