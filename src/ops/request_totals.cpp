#include "ops/request_totals.h"

#include <algorithm>

namespace clrscope::ops {

void RequestTotals::pause(const collect::RequestCounts& stopped) {
  past_ = with(stopped);
  past_.ends_dropped += stopped.seen - std::min(stopped.ended, stopped.seen);
  paused_ = true;
}

collect::RequestCounts RequestTotals::with(collect::RequestCounts now) const {
  // What the agent has is still that of the order that has ended, which is counted.
  if (paused_) now = {.helper = now.helper, .probability = now.probability};
  now.seen += past_.seen;
  now.sampled += past_.sampled;
  now.forced += past_.forced;
  now.cost += past_.cost;
  now.hearing += past_.hearing;
  now.process += past_.process;
  now.dropped += past_.dropped;
  now.ends_dropped += past_.ends_dropped;
  return now;
}

}  // namespace clrscope::ops
