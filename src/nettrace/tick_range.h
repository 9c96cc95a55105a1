// Which times a trace may hold. Times are input: they are checked once, where they are read.
#pragma once

#include <cstdint>
#include <optional>

#include "nettrace/reader.h"

namespace clrscope::nettrace {

struct TickRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool holds(std::int64_t ticks) const { return ticks >= first && ticks <= last; }
};

// The ticks within 60 years of sync_ticks. Times of such ticks, the differences between them and
// their wall times all fit into 64 bits of nanoseconds. Nothing when sync_ticks itself is out of
// range.
std::optional<TickRange> valid_ticks(const TraceInfo& info);

}  // namespace clrscope::nettrace
