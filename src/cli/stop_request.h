// Ctrl+C, SIGTERM and, on a terminal, Enter: a request to stop, as descriptors to poll.
#pragma once

#include <span>
#include <vector>

#include "base/fd.h"

namespace clrscope::cli {

enum class EnterKey { kStops, kIgnored };
enum class Hangup { kStops, kReloads };

// Takes over SIGINT, SIGTERM and SIGHUP while it lives; at most one at a time. A second signal has
// its usual effect.
class StopRequest {
 public:
  explicit StopRequest(EnterKey enter, Hangup hangup = Hangup::kStops);
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  std::span<const int> fds() const { return fds_; }
  int reload_fd() const { return reload_.get(); }  // an eventfd, readable after a SIGHUP
  int signal() const;                              // the one that came, or 0
  bool from_terminal() const;                      // then everybody in the foreground got it too

 private:
  UniqueFd event_;
  UniqueFd reload_;
  std::vector<int> fds_;
};

}  // namespace clrscope::cli
