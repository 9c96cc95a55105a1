// Findings over time: when each began and when it ended, from one examination after the other.
//
// A finding is the same as one of the examination before when its id and its title are, numbers not
// counted: "5 threads" become "6 threads". It has ended when two examinations in a row do not have
// it, at the time of the first of them. Pure: times are given. Belongs to one thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "doctor/finding.h"

namespace clrscope::doctor {

struct FindingChange {
  enum class Kind : std::uint8_t { kBegan, kEnded };
  Kind kind = Kind::kBegan;
  WallTime time{};   // when it happened
  WallTime began{};  // when the finding was first seen
  Report report{};   // as it was seen last
};
std::span<const std::string_view> names_of(FindingChange::Kind);  // "began", "ended"

class FindingHistory {
 public:
  // What is different after an examination at this time.
  std::vector<FindingChange> add(WallTime time, const std::vector<Report>& reports);
  // The process has ended, and with it all that it had.
  std::vector<FindingChange> end(WallTime time);

  std::size_t open() const { return open_.size(); }

 private:
  struct Open {
    std::string key{};
    WallTime began{};
    Report report{};
    std::size_t missed = 0;  // examinations in a row without it
    WallTime missed_since{};
  };
  std::vector<Open> open_;
};

}  // namespace clrscope::doctor
