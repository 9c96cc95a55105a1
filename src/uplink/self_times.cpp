#include "uplink/self_times.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace clrscope::uplink {
namespace {

struct Stretch {
  std::uint32_t thread = 0;
  TraceTime begin{};
  TraceTime end{};
  std::size_t span = 0;
};

std::vector<Stretch> stretches_of(const RequestTrace& request) {
  std::vector<Stretch> out;
  for (std::size_t at = 0; at < request.spans.size(); ++at) {
    const auto& span = request.spans[at];
    if (!span.is_async)
      out.push_back({span.thread, span.begin, span.end, at});
    else
      for (const auto& step : span.steps) out.push_back({step.thread, step.begin, step.end, at});
  }
  // The outer one first; of two that are the same, the parent, which is before its child.
  std::sort(out.begin(), out.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.thread, a.begin, b.end, a.span) < std::tie(b.thread, b.begin, a.end, b.span);
  });
  return out;
}

}  // namespace

std::vector<std::chrono::nanoseconds> self_times(const RequestTrace& request) {
  std::vector<std::chrono::nanoseconds> self(request.spans.size());
  std::vector<const Stretch*> open;
  TraceTime at{};
  const auto advance = [&](TraceTime to) {
    while (!open.empty() && at < to) {
      const auto& top = *open.back();
      const auto end = std::min(top.end, to);
      if (end > at) {
        self[top.span] += end - at;
        at = end;
      }
      if (top.end <= at) open.pop_back();
    }
    at = std::max(at, to);
  };
  const auto all = stretches_of(request);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].thread != all[i - 1].thread) {
      advance(TraceTime::max());
      at = all[i].begin;
    }
    if (i == 0) at = all[i].begin;
    advance(all[i].begin);
    open.push_back(&all[i]);
  }
  advance(TraceTime::max());
  return self;
}

std::vector<std::uint32_t> spans_of_samples(const RequestTrace& request) {
  std::vector<std::uint32_t> spans(request.samples.size());
  if (spans.empty()) return spans;
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto place = [&](std::size_t at) {
    return std::pair{request.samples[at].thread, request.samples[at].time};
  };
  std::ranges::sort(order, {}, place);
  const auto all = stretches_of(request);
  auto next = all.begin();
  std::vector<const Stretch*> open;  // of the thread, the innermost last
  for (const auto at : order) {
    const auto [thread, time] = place(at);
    for (; next != all.end() && std::pair{next->thread, next->begin} <= std::pair{thread, time};
         ++next)
      if (next->thread == thread) open.push_back(&*next);
    while (!open.empty() && (open.back()->thread != thread || open.back()->end <= time))
      open.pop_back();
    if (!open.empty()) spans[at] = static_cast<std::uint32_t>(open.back()->span + 1);
  }
  return spans;
}

}  // namespace clrscope::uplink
