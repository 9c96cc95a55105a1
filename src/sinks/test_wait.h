// For tests: waits for what another thread does.
#pragma once

#include <chrono>
#include <thread>

namespace clrscope::sinks {

constexpr std::chrono::seconds kPatience{30};

template <class F>
bool until(F&& holds) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace clrscope::sinks
