// Counts what a process or the machine does, by the processor's counters and the kernel's own: no
// samples, no ring, next to no cost.
//
// Not every machine has hardware counters: most virtual ones do not. What is missing is said.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::collect::perf {

struct Count {
  std::string name{};       // "cycles"; "task-clock" is in nanoseconds
  std::uint64_t value = 0;  // estimated where share < 1
  double share = 1;         // of the time that it was counted: there are fewer counters than events
};

struct Counts {
  std::vector<Count> counted{};
  std::string no_hardware{};  // why cycles and the like are not counted; empty: they are
  std::string hint{};
  bool user_only = false;  // hardware counters: code of the kernel is not counted

  const Count* find(std::string_view name) const;
};

// As read(2) gives it with PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING.
struct RawCount {
  std::uint64_t value = 0;
  std::uint64_t enabled = 0;  // ns
  std::uint64_t running = 0;
};

// What threads or CPUs counted, put together: each for the time that its counter was taken away.
Count sum_of(std::string name, std::span<const RawCount> parts);

// "cycles 6,100 M, instructions 9,000 M (1.48 per cycle), …"
std::string words_for(const Counts& counts);

class Counting {
 public:
  // From now on: all threads of the process, those that it starts later and its children too; or
  // with pid 0 all CPUs. A thread that starts in this very moment may be missed.
  static Result<Counting> start(pid_t pid);

  void restart();       // what was counted so far does not count
  Counts read() const;  // since then; also when the process has ended

 private:
  struct Counter {
    std::string name{};
    bool hardware = false;
    std::vector<UniqueFd> parts{};
    std::vector<RawCount> before{};  // of each part; empty: nothing

    std::vector<RawCount> read() const;
  };
  std::vector<Counter> counters_{};
  Counts missing_{};
};

}  // namespace clrscope::collect::perf
