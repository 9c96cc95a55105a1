// Whether a process can afford several looks at its heap.
//
// A look stops the process for a moment, and takes CPU time of ours. That time costs the process
// nothing while CPUs are idle; a process that keeps all of them busy loses it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

namespace clrscope::ops {

struct LookCost {
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds cpu{};  // of ours
};

struct HeapBudget {
  std::chrono::nanoseconds duration{};  // of the examination
  int looks = 1;
  bool busy = false;  // the process takes what CPU time there is
  double cpus = 1;    // of the machine
};
// Why so many looks of this cost are too many: more than 2 % of the time paused, or, for a busy
// process, more than 1 % of the CPU time there is.
std::optional<std::string> too_dear(const HeapBudget& budget, const LookCost& look);

// What reading a heap takes, estimated from the memory of the process.
std::chrono::nanoseconds estimated_cpu(std::uint64_t own_bytes);

// Measures whether a process takes what CPU time there is.
class BusyMeter {
 public:
  explicit BusyMeter(pid_t pid) : pid_(pid), begun_(read(pid)) {}
  // Since the begin. Half a CPU is left idle, or the process uses less than that: not busy.
  bool busy() const;

  struct Reading {
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds used{};  // by the process
    std::chrono::nanoseconds idle{};  // of all CPUs
  };
  static std::optional<Reading> read(pid_t pid);
  static bool is_busy(const Reading& from, const Reading& to);

 private:
  pid_t pid_;
  std::optional<Reading> begun_;
};

// Time that all CPUs were idle or waited for a disk, from the text of /proc/stat.
std::optional<std::chrono::nanoseconds> idle_time(std::string_view stat, long ticks_per_second);

}  // namespace clrscope::ops
