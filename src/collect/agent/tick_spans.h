// Arithmetic on intervals of ticks, from records that are not trusted: nothing overflows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace clrscope::collect {

struct TickSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // not before begin
  friend bool operator==(const TickSpan&, const TickSpan&) = default;
};
using TickSpans = std::vector<TickSpan>;

inline TickSpan clipped(TickSpan one, TickSpan window) {
  one.begin = std::clamp(one.begin, window.begin, window.end);
  one.end = std::clamp(one.end, one.begin, window.end);
  return one;
}

// In order, without overlaps and empty ones.
inline void merge(TickSpans& spans) {
  std::erase_if(spans, [](const TickSpan& one) { return one.begin == one.end; });
  std::ranges::sort(spans, {}, &TickSpan::begin);
  std::size_t used = 0;
  for (const auto one : spans)
    if (used > 0 && one.begin <= spans[used - 1].end)
      spans[used - 1].end = std::max(spans[used - 1].end, one.end);
    else
      spans[used++] = one;
  spans.resize(used);
}

// Of merged ones.
inline std::uint64_t measure(const TickSpans& spans) {
  std::uint64_t sum = 0;
  for (const auto& one : spans) sum += one.end - one.begin;
  return sum;
}

// What of merged `spans` lies outside of merged `others`.
inline TickSpans without(const TickSpans& spans, const TickSpans& others) {
  TickSpans out;
  std::size_t at = 0;
  for (auto one : spans) {
    while (at < others.size() && others[at].end <= one.begin) ++at;
    for (auto next = at; next < others.size() && others[next].begin < one.end; ++next) {
      if (one.begin < others[next].begin) out.push_back({one.begin, others[next].begin});
      one.begin = std::min(one.end, std::max(one.begin, others[next].end));
    }
    if (one.begin < one.end) out.push_back(one);
  }
  return out;
}

inline std::uint64_t add_limited(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace clrscope::collect
