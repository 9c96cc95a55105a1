// Measures what a recording costs the program: its CPU time before and during the recording.
//
// A program that keeps all CPUs busy uses no more of them while it is recorded, but does less work:
// that shows only in its throughput (bench/run cost).
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>

#include "base/clock.h"
#include "model/program_cost.h"

namespace clrscope::ops {

class ProgramMeter {
 public:
  // The time before begins. 0: no single program, nothing is measured.
  explicit ProgramMeter(pid_t pid);

  // Waits until the time before is long enough to tell, or one of these is readable.
  void await_before(std::span<const int> stop_fds);
  void start();  // the recording begins
  void stop();   // and ends
  // Nothing where a part is missing: it has ended, or did not run before.
  std::optional<ProgramCost> cost() const;

 private:
  struct Reading {
    TraceTime time{};
    std::chrono::nanoseconds cpu{};
  };
  std::optional<Reading> read() const;

  pid_t pid_;
  std::optional<Reading> begun_, started_, stopped_;
};

}  // namespace clrscope::ops
