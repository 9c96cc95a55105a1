// The counters of a process over the last minutes: each series with its points as they arrived.
//
// Nothing is interpolated: an interval without a value has no point. Bounded in series and points;
// what does not fit is counted. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hub/counter.h"

namespace clrscope::live {

struct CounterPoint {
  WallTime time{};
  double value = 0;  // as it is shown: a rate per second
};

struct CounterSeries {
  hub::CounterValue last{};
  std::vector<CounterPoint> points{};  // the oldest first
};

class CounterHistory {
 public:
  struct Limits {
    std::size_t series = 2000;
    std::chrono::nanoseconds length{std::chrono::minutes{10}};
  };
  // Which series; empty: all.
  struct Choice {
    std::string provider{};
    std::string name{};
  };

  explicit CounterHistory(Limits limits) : limits_(limits) {}

  void add(std::span<const hub::CounterValue> values);
  // Those told in the last minutes, by provider, name and tags; points not older than `length`.
  std::vector<CounterSeries> series(const Choice& choice, std::chrono::nanoseconds length) const;
  std::uint64_t left_out() const;

 private:
  struct Kept {
    hub::CounterValue last;
    std::deque<CounterPoint> points;
  };
  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> series_;  // by provider, name, tags
  WallTime tidied_{};
  std::uint64_t left_out_ = 0;
};

}  // namespace clrscope::live
