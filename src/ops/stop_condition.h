// When something that takes long is to end early: somebody asks for it, or its time is over.
#pragma once

#include <span>

#include "base/clock.h"

namespace clrscope::ops {

struct StopCondition {
  std::span<const int> fds{};  // one is readable: somebody asks for it, and does so from then on
  Deadline deadline{std::chrono::nanoseconds::max()};

  bool is_met() const;
  // Also ends when a connection does, or after so long; returns whether the connection has ended.
  bool wait(int connection, std::chrono::milliseconds longest) const;
};

// Whether a wait has seen what it waited for.
enum class WaitEnd { kReached, kStopped };

}  // namespace clrscope::ops
