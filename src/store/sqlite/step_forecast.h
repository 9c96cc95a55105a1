// When the steps of async methods ran, as far as it follows from their spans and the calls that
// they made: a chunk holds the differences only, and writer and reader foretell the same.
//
// A method that awaits its calls one after the other stops with the first step of a call, and goes
// on at the end of it. How long all its steps took is its self time and the first stretches of its
// calls: that tells when the last step began.
#pragma once

#include <vector>

#include "store/batch.h"

namespace clrscope::store {

class StepForecast {
 public:
  // Of `count` spans from `first` on, whose steps begin at `step`. It must outlive this.
  StepForecast(const BatchSpans& spans, std::size_t first, std::size_t count, std::size_t step)
      : spans_(spans), first_(first), steps_(count), next_(count + 1), calls_(count + 1) {
    for (std::size_t i = 0; i < count; ++i) {
      steps_[i] = step;
      step += spans.steps[first + i];
    }
    for (auto i = static_cast<std::uint32_t>(count); i > 0; --i) {
      const auto parent = spans.parent[first + i - 1];
      next_[i] = calls_[parent];
      calls_[parent] = i;
    }
  }

  std::size_t step_of(std::size_t span) const { return steps_[span]; }

  // The steps of later spans must be known by now.
  void open(std::size_t span) {
    span_ = span;
    ran_ = 0;
    running_ = spans_.self[first_ + span];
    awaited_.clear();
    for (auto call = calls_[span + 1]; call != 0; call = next_[call]) {
      running_ += first_stretch(call - 1);
      if (spans_.steps[first_ + call - 1] > 1) awaited_.push_back(call - 1);
    }
  }
  // Of step `k`; those before it are known.
  std::uint64_t begin(std::size_t k) {
    const auto at = first_ + span_;
    if (k == 0) return spans_.begin[at];
    ran_ += spans_.step_duration[steps_[span_] + k - 1];
    if (k + 1 == spans_.steps[at])
      return spans_.begin[at] + spans_.duration[at] - (running_ > ran_ ? running_ - ran_ : 0);
    if (k <= awaited_.size()) return end_of(awaited_[k - 1]);
    return spans_.step_begin[steps_[span_] + k - 1] + spans_.step_duration[steps_[span_] + k - 1];
  }
  std::uint64_t duration(std::size_t k) const {
    const auto at = first_ + span_;
    const auto begin = spans_.step_begin[steps_[span_] + k];
    if (k + 1 == spans_.steps[at]) return spans_.begin[at] + spans_.duration[at] - begin;
    if (k >= awaited_.size()) return 0;
    const auto end = spans_.begin[first_ + awaited_[k]] + first_stretch(awaited_[k]);
    return end > begin ? end - begin : 0;
  }

 private:
  std::uint64_t first_stretch(std::size_t span) const {
    return spans_.steps[first_ + span] == 0 ? spans_.duration[first_ + span]
                                            : spans_.step_duration[steps_[span]];
  }
  std::uint64_t end_of(std::size_t span) const {
    return spans_.begin[first_ + span] + spans_.duration[first_ + span];
  }

  const BatchSpans& spans_;
  std::size_t first_;
  std::vector<std::size_t> steps_;       // first of each span
  std::vector<std::uint32_t> next_;      // call of the same caller, from 1
  std::vector<std::uint32_t> calls_;     // first call of each caller, from 1; [0]: of the request
  std::size_t span_ = 0;                 // that is open
  std::uint64_t running_ = 0, ran_ = 0;  // in all its steps, in those before
  std::vector<std::size_t> awaited_;
};

}  // namespace clrscope::store
