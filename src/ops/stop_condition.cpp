#include "ops/stop_condition.h"

#include <poll.h>

#include <algorithm>
#include <vector>

namespace clrscope::ops {

bool StopCondition::is_met() const {
  return deadline.passed() || std::ranges::any_of(fds, [](int fd) {
           pollfd polled{fd, POLLIN, 0};
           return ::poll(&polled, 1, 0) > 0;
         });
}

bool StopCondition::wait(int connection, std::chrono::milliseconds longest) const {
  std::vector<pollfd> polled{{connection, POLLRDHUP, 0}};
  for (const auto fd : fds) polled.push_back({fd, POLLIN, 0});
  const auto ms = std::min(static_cast<int>(longest.count()), deadline.poll_timeout());
  return ::poll(polled.data(), polled.size(), ms) > 0 && polled[0].revents != 0;
}

}  // namespace clrscope::ops
