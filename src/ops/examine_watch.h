// Keeps examining one process by sources that cost little, and reports findings as they begin and
// end.
//
// No events and no CPU samples: findings that need them are not looked for. The process's memory
// stays open from one examination to the next.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "doctor/history.h"
#include "ops/examine.h"

namespace clrscope::ops {

using doctor::FindingChange;

struct FindingWatchRequest {
  ExamineRequest each{};  // its `only`: all that cost little, when empty
  std::chrono::nanoseconds interval{std::chrono::seconds{5}};
  std::optional<std::chrono::nanoseconds> duration{};  // nothing: until the process ends
};

struct FindingWatchReport {
  std::size_t examinations = 0;
  std::size_t open = 0;  // findings that had not ended
  bool process_ended = false;
  std::optional<Severity> worst{};  // of all that were found
};

struct FindingWatchListener {
  std::function<void(const doctor::Examination&)> on_start{};  // with the first examination
  std::function<void(const doctor::Examination&, const FindingChange&)> on_change{};
};

// One line of `doctor --watch --json`.
struct ChangeAnswer {
  WallTime time{};
  FindingChange::Kind change = FindingChange::Kind::kBegan;
  pid_t pid = 0;
  std::string process{};
  WallTime began{};
  std::optional<std::chrono::nanoseconds> lasted{};
  FoundAnswer finding{};
};
const Shape& shape_of(const ChangeAnswer*);
ChangeAnswer answer_of(const doctor::Examination& examination, const FindingChange& change);

// Ends when the time is over, a stop_fd of `each` is readable, or the process has ended.
Result<FindingWatchReport> watch_findings(const FindingWatchRequest& request,
                                          const FindingWatchListener& listener);

// What can be found without events, CPU samples and copies of the process.
std::vector<std::string> cheap_findings();

}  // namespace clrscope::ops
