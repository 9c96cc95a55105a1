// Examines every .NET process of the machine, several at a time, and lists the most severe first.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "doctor/answer.h"
#include "ops/examine.h"

namespace clrscope::ops {

struct RoundRequest {
  ExamineRequest each{};  // without a target; default duration: kEach
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
};

struct RoundAnswer {
  std::chrono::nanoseconds duration{};
  std::vector<Round::Skipped> skipped{};
  std::vector<doctor::ExaminationAnswer> processes{};
};
const Shape& shape_of(const Round::Skipped*);
const Shape& shape_of(const RoundAnswer*);
RoundAnswer answer_of(const Round& round);

// `on_status`: from any thread, one call after the other.
Result<Round> examine_all(const RoundRequest& request,
                          const std::function<void(const RoundStatus&)>& on_status);

}  // namespace clrscope::ops
