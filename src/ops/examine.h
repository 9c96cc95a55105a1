// The doctor's visit: gathers evidence of a live process or a core, and asks every finding.
//
// Two sources run side by side, so that a silent runtime does not delay what its memory tells:
// looks at threads and locks about once a second, and one recording of runtime events and CPU
// samples. What could not be had is said, with the reason.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/examination.h"
#include "ops/target.h"

namespace clrscope::ops {

struct ExamineWish {
  TargetWish target{};                  // a command excepted
  std::string core{};                   // or a core's path
  std::vector<std::string> only{};      // ids; empty: all
  std::vector<std::string> settings{};  // "CS1501.perSecond=10"
  std::optional<std::chrono::nanoseconds> duration{};
  bool messages = true;             // of exceptions: what the program said in them
  std::span<const int> stop_fds{};  // one of them readable: conclude from what there is
};

struct ExamineStatus {
  std::chrono::nanoseconds elapsed{};
  std::chrono::nanoseconds whole{};
  std::size_t looks = 0;
  std::uint64_t events = 0;
  bool concluding = false;  // the watching is over: names are collected, evidence is weighed
};

struct ExamineWatcher {
  std::function<void(const ExamineStatus&)> on_status{};  // about five times a second
};

Result<doctor::Examination> examine(const ExamineWish& wish, const ExamineWatcher& watcher);

}  // namespace clrscope::ops
