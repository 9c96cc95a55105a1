#include "nettrace/reader.h"

namespace clrscope::nettrace {
namespace {

__extension__ typedef __int128 Wide;

}  // namespace

TraceTime TraceInfo::time_of(std::int64_t ticks) const {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
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

}  // namespace clrscope::nettrace
