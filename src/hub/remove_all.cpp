#include "hub/remove_all.h"

#include <thread>

namespace clrscope::hub {

std::vector<SessionSummary> remove_all(Hub& hub, std::span<const ListenerId> listeners) {
  std::vector<SessionSummary> summaries(listeners.size());
  {
    std::vector<std::jthread> removers;
    for (std::size_t i = 0; i < listeners.size(); ++i)
      removers.emplace_back([&, i] { summaries[i] = hub.remove(listeners[i]); });
  }
  return summaries;
}

}  // namespace clrscope::hub
