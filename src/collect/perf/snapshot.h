// What was there before the events were switched on: processes, threads and executable mappings,
// from /proc, in the shape of the records that the kernel would have written.
//
// Take it after EventSet::enable_bookkeeping(), so that nothing falls between. Build-ids are not
// read here. Needs the rights that /proc/PID/maps asks for; what may not be read is counted.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collect/perf/record.h"

namespace clrscope::collect::perf {

struct ThreadFacts {
  ThreadId thread{};
  ThreadId own_id{};  // as its own pid namespace has it
};

struct ProcessFacts {
  ProcessId process{};
  pid_t own_pid = 0;  // as its own pid namespace has it
  std::string name{};
  std::string container{};        // empty: none
  bool other_mounts = false;      // paths are below proc_root()
  std::uint64_t start_ticks = 0;  // pid and start time identify a process
  std::vector<ThreadFacts> threads{};
};

struct SnapshotSink {
  std::function<void(const ProcessFacts&)> on_process{};  // before its records; may be empty
  std::function<void(const Record&)> on_record;           // ThreadName and Mapping
};

struct SnapshotTotals {
  std::size_t processes = 0;
  std::size_t threads = 0;
  std::size_t mappings = 0;
  std::size_t gone = 0;    // ended while we looked
  std::size_t denied = 0;  // whose mappings we may not read
};

// No processes named: all. Records bear the time `as_of` (when the events were switched on).
Result<SnapshotTotals> take_snapshot(const std::vector<pid_t>& processes, TraceTime as_of,
                                     const SnapshotSink& sink);

// The executable mappings that a process has now, in that shape. Fails when they may not be read.
Result<> read_mappings(pid_t process, TraceTime as_of,
                       const std::function<void(const Mapping&)>& take);

// One line of /proc/PID/maps, all protections. The path is a view into the line, its newlines
// escaped as \012; anonymous memory is "//anon" as in the kernel's records.
std::optional<Mapping> parse_maps_line(std::string_view line);

}  // namespace clrscope::collect::perf
