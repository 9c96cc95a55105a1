// What a profile of requests has counted, over all orders that the agent had: with each it begins
// again at 0, but not before the next one starts.
#pragma once

#include "collect/agent/requests.h"

namespace clrscope::ops {

class RequestTotals {
 public:
  // The order has ended with these counts. Requests that were in flight count as lost.
  void pause(const collect::RequestCounts& stopped);
  // The agent has started another one.
  void resume() { paused_ = false; }
  bool is_paused() const { return paused_; }

  // `now`: of the agent.
  collect::RequestCounts with(collect::RequestCounts now) const;

 private:
  collect::RequestCounts past_{};
  bool paused_ = false;
};

}  // namespace clrscope::ops
