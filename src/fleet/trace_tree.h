// One trace as a tree: the requests that clrscope recorded, and the spans of other tracers. Pure.
//
// Spans name their parent. A request of clrscope has no span id: it is placed below the shortest
// span or request that contains it in time, and a span whose parent nobody sent below the shortest
// request that contains it. Each line says how it was placed.
#pragma once

#include <span>

#include "store/answers.h"
#include "store/otlp_span.h"

namespace clrscope::fleet {

struct TraceLine {
  std::string kind{};                // "request" or "span"
  std::uint32_t index = 0;           // in the requests or spans of the answer
  std::uint32_t parent = 0;          // 1 + position of a line before it; 0: none
  std::string placed_by{};           // "spanId", "time" or "" for a line without a parent
  std::chrono::nanoseconds begin{};  // after the begin of the trace
  std::chrono::nanoseconds duration{};
};
const Shape& shape_of(const TraceLine*);

// A parent before its children, children by begin.
std::vector<TraceLine> trace_tree(std::span<const store::StoredRequest> requests,
                                  std::span<const store::OtlpSpan> spans);

}  // namespace clrscope::fleet
