// The stack of every thread of a target, with as little harm as can be.
//
// A blocked thread does not move: its place is read from /proc, its stack from memory, and the
// kernel's count of how often it ran says afterwards whether it stood still meanwhile. Only those
// that ran, or whose registers were wanting, are stopped: all together, once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspect/target.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

enum class StopPolicy : std::uint8_t { kNever, kBriefly };

struct ThreadStack {
  OsThread os{};
  StackImage stack{};
  WalkedStack walked{};
  bool running = false;
  std::string broken{};  // why there is no stack, or not all of it
};

struct ThreadStacks {
  std::vector<ThreadStack> threads{};  // by OS id
  std::chrono::nanoseconds pause{};
  std::vector<std::string> notes{};
};

Result<ThreadStacks> take_stacks(Target& target, Walker& walker, StopPolicy policy);

}  // namespace clrscope::inspect
