// Limits the number of series of a listener: a program may make tags from whatever its users send.
//
// The first ones stay; the rest is left out and counted. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>

#include "hub/counter.h"

namespace clrscope::hub {

class SeriesLimit {
 public:
  static constexpr std::size_t kPerMetric = 1000, kPerProcess = 5000;

  explicit SeriesLimit(std::size_t per_metric = kPerMetric, std::size_t per_process = kPerProcess)
      : per_metric_(per_metric), per_process_(per_process) {}

  bool admits(const CounterValue& value) {
    auto& process = processes_[value.pid];
    auto& metric = process.metrics[value.provider + '\n' + value.name];
    // By hash: two series of one in 2^64 would be taken for one here, and are both let through.
    const auto series = std::hash<std::string>{}(value.tags_text());
    if (metric.contains(series)) return true;
    if (metric.size() >= per_metric_ || process.series >= per_process_) return false;
    metric.insert(series);
    ++process.series;
    return true;
  }
  std::size_t per_metric() const { return per_metric_; }
  std::size_t per_process() const { return per_process_; }
  void forget(pid_t pid) { processes_.erase(pid); }

 private:
  struct Process {
    std::map<std::string, std::unordered_set<std::size_t>> metrics{};
    std::size_t series = 0;
  };
  std::size_t per_metric_, per_process_;
  std::map<pid_t, Process> processes_;
};

}  // namespace clrscope::hub
