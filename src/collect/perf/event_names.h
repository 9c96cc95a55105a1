// The words of --perf-events and the events they mean.
//
//   sched:sched_switch      a tracepoint; sched:* is all of a system
//   syscalls                every system call, as raw_syscalls:sys_enter and sys_exit
//   syscalls:openat         this one only; with several of them, those
//   page-faults             a counter that the kernel keeps itself
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/perf/perf_attr.h"

namespace clrscope::collect::perf {

// A list with commas. A name that this kernel does not know is an error that says which is near.
Result<std::vector<EventRequest>> parse_event_names(std::string_view list);

}  // namespace clrscope::collect::perf
