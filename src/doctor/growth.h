// How a number grew while it was watched.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

namespace clrscope::doctor {

struct Growth {
  double total = 0;       // from the first value to the last
  double per_second = 0;  // likewise
  bool steady = false;    // it rose in most of the intervals and fell in hardly any
};

using Series = std::vector<std::pair<std::chrono::nanoseconds, double>>;  // by time
Growth growth_of(const Series& values);

}  // namespace clrscope::doctor
