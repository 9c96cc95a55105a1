// The doctor's round: every .NET process of the machine, some at a time, the worst first.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ops/examine.h"

namespace clrscope::ops {

struct RoundWish {
  ExamineWish each{};  // without a target; its duration: kEach unless told
  std::size_t at_once = 4;
  std::chrono::nanoseconds longest{std::chrono::minutes{2}};  // none is begun after it

  static constexpr std::chrono::seconds kEach{6};  // enough for every examination
};

struct RoundStatus {
  std::size_t processes = 0, examined = 0, running = 0;
};

struct Round {
  std::vector<doctor::Examination> examined{};  // the one with the worst finding first
  struct Skipped {
    pid_t pid = 0;
    std::string name{};
    std::string reason{};
  };
  std::vector<Skipped> skipped{};
  std::chrono::nanoseconds took{};

  bool has(doctor::Severity at_least) const;
  std::string json() const;
};

// `on_status`: from any thread, one call after the other.
Result<Round> examine_all(const RoundWish& wish,
                          const std::function<void(const RoundStatus&)>& on_status);

}  // namespace clrscope::ops
