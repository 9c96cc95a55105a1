// Requests per second of a process, from counters that are read anyway. Nothing is opened for it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "live/counter_history.h"

namespace clrscope::live {

struct RequestRate {
  std::optional<double> per_second{};
  std::string unknown{};  // why there is none
};

// `hosting`: the series of ASP.NET Core's hosting layer, as a CounterHistory has them.
RequestRate request_rate_of(std::span<const CounterSeries> hosting, WallTime now);

}  // namespace clrscope::live
