// The stack of every thread of a target, with as little harm as can be.
//
// A blocked thread does not move: its place is read from /proc, its stack from memory, and the
// kernel's count of how often it ran says afterwards whether it stood still meanwhile. Only those
// that ran, or whose registers were wanting, are stopped: all together, once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
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
  std::string broken{};    // why there is no stack, or not all of it
  std::string times{};     // how often it had run when it stood here; empty: unknown
  bool unchanged = false;  // it has not run since the look before: its frames are the same
};

struct ThreadStacks {
  std::vector<ThreadStack> threads{};  // by OS id
  std::chrono::nanoseconds pause{};
  std::vector<std::string> notes{};
};

// What one look at a live process leaves for the next with the same walker. A thread that has not
// run since is where it was: only its stack is read again, where a collection may have moved what
// it refers to.
struct StackMemo {
  struct Known {
    OsThread os{};
    WalkedStack walked{};
    std::size_t bytes = 0;  // of its stack
    std::string times{};
  };
  std::unordered_map<pid_t, Known> threads{};  // by the number that we see
  std::optional<bool> nested{};                // in a pid namespace below ours
};

// `memo` may be null.
Result<ThreadStacks> take_stacks(Target& target, Walker& walker, StopPolicy policy,
                                 StackMemo* memo = nullptr);

}  // namespace clrscope::inspect
