// The table that `counters monitor` redraws: each counter's value now, and a line of its history.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>

#include "ops/counters.h"

namespace clrscope::cli {

class CounterBoard {
 public:
  void add(std::span<const ops::CounterValue> values);
  // It ended: its last values are removed.
  void forget(pid_t pid, const std::string& process);
  // At most `width` columns and `height` lines.
  std::string text(std::size_t width, std::size_t height) const;
  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    std::string title{};
    std::string now{};
    std::deque<double> history{};
  };
  static constexpr std::size_t kHistory = 40;
  // By process, provider, title and tags: a counter keeps its place.
  std::map<std::tuple<std::string, std::string, std::string>, Row> rows_;
};

// "▁▃▇█": the lowest and highest value of the history are the ends of the scale.
std::string sparkline(const std::deque<double>& values, std::size_t width);
// "1,234", "0.25", "1.2e+12"
std::string readable_number(double value);

}  // namespace clrscope::cli
