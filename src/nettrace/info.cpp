#include <algorithm>
#include <limits>

#include "nettrace/tick_range.h"

namespace clrscope::nettrace {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
// The header's wall time is at most the year 2200 and 64 bits of nanoseconds end in 2262.
constexpr std::int64_t kSixtyYears = std::int64_t{60} * 365 * 24 * 3600 * kNanoseconds;
constexpr std::int64_t kLatestSync = std::int64_t{1} << 62;  // ns, 146 years

std::int64_t limited_ticks(Wide ticks) {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(std::clamp<Wide>(ticks, Limits::min(), Limits::max()));
}

}  // namespace

TraceTime TraceInfo::time_of(std::int64_t ticks) const {
  if (ticks_per_second == kNanoseconds || ticks_per_second <= 0)
    return TraceTime{std::chrono::nanoseconds{ticks}};
  const auto ns = static_cast<Wide>(ticks) * kNanoseconds / ticks_per_second;
  return TraceTime{std::chrono::nanoseconds{static_cast<std::int64_t>(ns)}};
}

TraceTime TraceInfo::begin() const {
  const auto sync = time_of(sync_ticks);
  std::int64_t ns = 0;
  if (window_ns <= 0 || __builtin_add_overflow(sync.time_since_epoch().count(), window_ns, &ns))
    return sync;
  return TraceTime{std::chrono::nanoseconds{ns}};
}

std::optional<TickRange> valid_ticks(const TraceInfo& info) {
  const auto rate = info.ticks_per_second;
  if (rate <= 0) return std::nullopt;
  const auto sync_ns = static_cast<Wide>(info.sync_ticks) * kNanoseconds / rate;
  if (sync_ns < -kSixtyYears || sync_ns > kLatestSync) return std::nullopt;
  const auto reach = static_cast<Wide>(kSixtyYears) * rate / kNanoseconds;
  return TickRange{.first = limited_ticks(info.sync_ticks - reach),
                   .last = limited_ticks(info.sync_ticks + reach)};
}

}  // namespace clrscope::nettrace
