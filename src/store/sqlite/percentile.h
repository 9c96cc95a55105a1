// Percentiles of durations, and times as answers have them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace clrscope::store {

inline std::chrono::nanoseconds ns(std::uint64_t count) {
  return std::chrono::nanoseconds{static_cast<std::int64_t>(count)};
}
inline WallTime wall(std::int64_t unix_ns) { return WallTime{std::chrono::nanoseconds{unix_ns}}; }

// Which of so many sorted values has rank p (nearest rank).
inline std::size_t rank_of(std::size_t count, double p) {
  const auto rank = std::ceil(p / 100 * static_cast<double>(count));
  return std::min(static_cast<std::size_t>(std::max(rank, 1.0)) - 1, count - 1);
}
inline std::uint64_t percentile(const std::vector<std::uint64_t>& sorted, double p) {
  return sorted.empty() ? 0 : sorted[rank_of(sorted.size(), p)];
}
// Of values in any order, which it changes.
inline std::uint64_t find_percentile(std::vector<std::uint64_t>& values, double p) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank_of(values.size(), p));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

inline Result<> check_band(double from, double to) {
  if (from >= 0 && from < to && to <= 100) return {};
  return fail(Errc::kUsage, "percentiles must be 0 ≤ from < to ≤ 100, not {} and {}", from, to);
}

// The shortest and the longest duration of a band of percentiles; changes the order of `durations`.
inline std::pair<std::uint64_t, std::uint64_t> band_of(std::vector<std::uint64_t>& durations,
                                                       double from, double to) {
  return {from <= 0 ? 0 : find_percentile(durations, from),
          to >= 100 ? ~std::uint64_t{0} : find_percentile(durations, to)};
}

}  // namespace clrscope::store
