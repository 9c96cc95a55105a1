// Ctrl+C, SIGTERM and, on a terminal, Enter: a wish to stop, as descriptors to poll.
#pragma once

#include <span>
#include <vector>

#include "base/fd.h"

namespace clrscope::cli {

enum class EnterKey { kStops, kIgnored };

// Takes over SIGINT, SIGTERM and SIGHUP while it lives; at most one at a time. A second signal has
// its usual effect.
class StopRequest {
 public:
  explicit StopRequest(EnterKey enter);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  std::span<const int> fds() const { return fds_; }
  int signal() const;          // the one that came, or 0
  bool from_terminal() const;  // then everybody in the foreground got it too

 private:
  UniqueFd event_;
  std::vector<int> fds_;
};

}  // namespace clrscope::cli
