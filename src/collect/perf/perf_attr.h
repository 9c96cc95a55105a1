// What to ask the kernel for, in words, and the perf_event_attr that asks it.
//
// Opens nothing but what resolving needs: tracefs for the id of a tracepoint.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/perf/record.h"
#include "collect/perf/tracepoint_format.h"
#include "model/sampling.h"

struct perf_event_attr;

namespace clrscope::collect::perf {

inline constexpr std::uint32_t kOnCpuStackBytes = 8 << 10;  // holds 94-100 % of stacks whole
// Compilers and the like go deep and keep no frame pointers: 8 KB hold 94 % of theirs, 16 KB 99 %.
inline constexpr std::uint32_t kMachineStackBytes = 16 << 10;
inline constexpr std::uint32_t kOffCpuStackBytes = 4 << 10;  // holds all but a few of a thousand

// One kind of sample.
struct EventRequest {
  std::string tracepoint{};  // "sched:sched_switch"; empty: CPU samples, or `software`
  std::string filter{};      // tracepoints: the kernel's own filter, such as "prev_pid == 12"
  std::optional<std::uint64_t> software{};  // a counter of the kernel's, each time it counts
  std::string counter_name{};               // of that: "page-faults"
  unsigned rate = kUsualRate;               // CPU samples: per second and CPU, on average
  bool callchain = true;          // frame pointer walk by the kernel: kernel and user part
  bool user_callchain = true;     // false: kernel part only, for those who unwind the copy
  std::uint32_t stack_bytes = 0;  // user stack and registers copied with each; 0: none
  bool switches = false;          // also Switch records: when threads run, without stacks

  bool each_time() const { return !tracepoint.empty() || software.has_value(); }  // has no rate
};

EventRequest cpu_samples(unsigned rate, std::uint32_t stack_bytes = kOnCpuStackBytes);
EventRequest tracepoint_samples(std::string name, std::uint32_t stack_bytes = 0);
// Where a thread stands when it stops running (`origin` is the thread that goes), and Switch
// records.
EventRequest context_switch_samples(std::uint32_t stack_bytes = kOffCpuStackBytes);
// The latter alone.
EventRequest switch_records();

enum class Scope : std::uint8_t {
  kMachine,   // one event per CPU
  kThreads,   // one per thread and CPU, inherited by new threads and children; needs least rights
  kFiltered,  // per CPU, and what other processes do is dropped when read: cheapest for the target
  kBestFor,   // kFiltered where that is allowed, else kThreads
};

struct SessionRequest {
  Scope scope = Scope::kMachine;
  std::vector<pid_t> processes{};  // all but kMachine
  std::vector<EventRequest> events{};
  bool kernel = true;          // samples and frames of the kernel, where allowed
  std::size_t ring_bytes = 0;  // per CPU; 0: chosen by what the events copy
};

// Kernels differ: what of the newer things this one takes.
struct Features {
  bool build_id = true;     // 5.12
  bool lost_count = true;   // 6.0
  bool kernel_part = true;  // else exclude_kernel
};

// A request made exact: which counter, which tracepoint.
struct ResolvedEvent {
  std::string name;  // "cpu-clock", "sched:sched_switch", "bookkeeping"
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  EventRequest request{};
  std::optional<TracepointFormat> format{};
  RecordLayout layout{};

  bool samples_cpu() const { return !request.each_time() && name != "bookkeeping"; }
};

Result<ResolvedEvent> resolve(const EventRequest& request);
// Carries mappings, names, forks and exits but no samples.
ResolvedEvent bookkeeping_event();

enum class Bookkeeping : std::uint8_t { kNone, kTasks };

perf_event_attr make_attr(const ResolvedEvent& event, const Features& features,
                          Bookkeeping bookkeeping);

// perf_event_open(2) with close-on-exec; pid -1 is everybody. When it fails errno says why.
UniqueFd open_event(const perf_event_attr& attr, pid_t pid, int cpu);

// Those that the process has now.
std::vector<pid_t> threads_of(pid_t process);
// As many files as we may have, before the first event is opened.
void raise_fd_limit();

// A ring that holds a quarter to half a second of the request on a busy CPU; less where there are
// so many CPUs that all rings together would be large.
std::size_t ring_bytes_for(const SessionRequest& request);

}  // namespace clrscope::collect::perf
