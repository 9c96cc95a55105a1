// Since when a process has which finding, and what it had before: told by the checks of the watch.
//
// A finding is known by its id. Time is an argument. Not safe for threads: the watch has the lock.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/shape.h"
#include "ops/examine.h"

namespace clrscope::live {

struct FindingSpan {
  std::string_view id{};
  std::string title{};  // as it was last
  ops::Severity severity = ops::Severity::kInfo;
  std::optional<WallTime> not_before{};  // the last check without it; nothing: there was none
  WallTime began{};                      // the first check with it
  std::optional<WallTime> ended{};       // the first check without it
};
const Shape& shape_of(const FindingSpan*);

class FindingHistory {
 public:
  // What began with this check, and what ended.
  std::vector<FindingSpan> add(const ops::ExaminationAnswer& seen);
  // The process has ended: so have its findings. Gives those.
  std::vector<FindingSpan> end(WallTime now);
  const std::vector<FindingSpan>& current() const { return now_; }
  // What is there now, then what was there, the newest first.
  std::vector<FindingSpan> spans() const;

 private:
  const FindingSpan& close(std::size_t at, WallTime now);

  std::vector<FindingSpan> now_;
  std::vector<FindingSpan> past_;                               // the oldest first
  std::vector<std::pair<std::string_view, WallTime>> without_;  // by id: the last check without it
};

}  // namespace clrscope::live
