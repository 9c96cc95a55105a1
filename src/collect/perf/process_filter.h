// Keeps the records of some processes and their children out of everybody's.
//
// Rings of several CPUs are read one after the other, so that a child may be seen before its fork:
// an unknown process is looked up in /proc once. One that has ended by then is undecided until all
// rings are read.
#pragma once

#include <sys/types.h>

#include <unordered_map>
#include <vector>

#include "collect/perf/record.h"

namespace clrscope::collect::perf {

class ProcessFilter {
 public:
  explicit ProcessFilter(const std::vector<pid_t>& processes);

  // Call with every record, in the order read: forks and exits are followed.
  bool wants(const Record& record);
  bool wants(ProcessId process);
  // Its process is not known, and /proc cannot tell: ask again when its fork has been read.
  bool undecided(const Record& record) const;

 private:
  bool task(const Task& task);

  std::unordered_map<ProcessId, bool> known_;
};

}  // namespace clrscope::collect::perf
