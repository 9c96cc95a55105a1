#include "collect/perf/perf_attr.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <filesystem>

#include "base/io.h"
#include "base/text.h"
#include "collect/perf/periods.h"
#include "collect/perf/registers_x64.h"
#include "collect/perf/tracefs.h"

namespace clrscope::collect::perf {
namespace {

constexpr std::uint32_t kLargestStack = 65528;  // a record has at most 64 KiB and 8-byte steps
constexpr unsigned kHighestRate = 100'000;
constexpr std::uint64_t kAlways =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

RecordLayout layout_of(const EventRequest& request) {
  RecordLayout layout{.sample_type = kAlways | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD};
  if (request.callchain) layout.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (!request.tracepoint.empty()) layout.sample_type |= PERF_SAMPLE_RAW;
  if (request.stack_bytes > 0) {
    layout.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    layout.user_registers = x64::kGeneralRegisters;
  }
  return layout;
}

}  // namespace

EventRequest cpu_samples(unsigned rate, std::uint32_t stack_bytes) {
  EventRequest request;
  request.rate = rate;
  request.stack_bytes = stack_bytes;
  return request;
}

EventRequest tracepoint_samples(std::string name, std::uint32_t stack_bytes) {
  EventRequest request;
  request.tracepoint = std::move(name);
  request.stack_bytes = stack_bytes;
  return request;
}

EventRequest context_switch_samples(std::uint32_t stack_bytes) {
  auto request = tracepoint_samples("sched:sched_switch", stack_bytes);
  request.switches = true;
  return request;
}

EventRequest switch_records() {
  EventRequest request;
  request.software = PERF_COUNT_SW_DUMMY;
  request.counter_name = "switches";
  request.callchain = false;
  request.switches = true;
  return request;
}

Result<ResolvedEvent> resolve(const EventRequest& request) {
  if (request.stack_bytes > kLargestStack)
    return fail(Errc::kUsage, "cannot copy {} bytes of stack with a sample", request.stack_bytes)
        .hint("use at most {}", kLargestStack);
  ResolvedEvent event{.name = {}, .request = request, .layout = layout_of(request)};
  event.request.stack_bytes = (request.stack_bytes + 7) & ~7U;
  if (!request.tracepoint.empty()) {
    const auto tracefs = TRY(Tracefs::open());
    event.format = TRY(tracefs.format(request.tracepoint));
    event.name = request.tracepoint;
    event.type = PERF_TYPE_TRACEPOINT;
    event.config = event.format->id;
    return event;
  }
  if (request.software) {
    event.name = request.counter_name;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = *request.software;
    return event;
  }
  if (request.rate == 0 || request.rate > kHighestRate)
    return fail(Errc::kUsage, "invalid sampling rate {}", request.rate)
        .hint("use a rate between 1 and {}; the default is 499", kHighestRate);
  if (const auto most = read_file("/proc/sys/kernel/perf_event_max_sample_rate");
      most && request.rate > parse_number(trim(*most)).value_or(kHighestRate))
    return fail(Errc::kUsage, "the kernel allows at most {} samples a second here", trim(*most))
        .hint("give a lower --rate, or raise kernel.perf_event_max_sample_rate");
  // A timer: it works everywhere and counts time, which is what shares are of.
  event.name = "cpu-clock";
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  return event;
}

ResolvedEvent bookkeeping_event() {
  return {.name = "bookkeeping",
          .type = PERF_TYPE_SOFTWARE,
          .config = PERF_COUNT_SW_DUMMY,
          .layout = {.sample_type = kAlways}};
}

perf_event_attr make_attr(const ResolvedEvent& event, const Features& features,
                          Bookkeeping bookkeeping) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.sample_type = event.layout.sample_type;
  attr.sample_id_all = 1;
  attr.disabled = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.exclude_idle = event.type != PERF_TYPE_TRACEPOINT;  // the idle task is nobody's work
  // A tracepoint lies in the kernel: without it, it would never fire.
  attr.exclude_kernel = !features.kernel_part && event.type != PERF_TYPE_TRACEPOINT;
  attr.exclude_hv = 1;
  attr.read_format = features.lost_count ? static_cast<std::uint64_t>(PERF_FORMAT_LOST) : 0;
  if (event.config == PERF_COUNT_SW_DUMMY && event.type == PERF_TYPE_SOFTWARE) {
    attr.exclude_kernel = 1;  // nothing to see there, and fewer rights needed
  } else if (event.request.each_time()) {
    attr.sample_period = 1;
  } else {
    attr.sample_period = static_cast<std::uint64_t>(Periods::usual(event.request.rate).count());
  }
  attr.exclude_callchain_kernel = !features.kernel_part;
  attr.exclude_callchain_user = !event.request.user_callchain;
  attr.sample_regs_user = event.layout.user_registers;
  attr.sample_stack_user = event.request.stack_bytes;
  if (bookkeeping != Bookkeeping::kNone) {
    attr.mmap = 1;
    attr.mmap2 = 1;
    attr.comm = 1;
    attr.comm_exec = 1;
    attr.task = 1;
    attr.build_id = features.build_id;
  }
  attr.context_switch = event.request.switches;
  return attr;
}

UniqueFd open_event(const perf_event_attr& attr, pid_t pid, int cpu) {
  return UniqueFd{
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC))};
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code gone;
  for (std::filesystem::directory_iterator it{fmt::format("/proc/{}/task", process), gone}, end;
       !gone && it != end; it.increment(gone))
    if (const auto tid = parse_number(it->path().filename().native()))
      threads.push_back(static_cast<pid_t>(*tid));
  return threads;
}

// Before the first event is opened: a refusal halfway would look like a missing counter or thread.
void raise_fd_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // if still too few, opening an event fails and says so
}

std::size_t ring_bytes_for(const SessionRequest& request) {
  if (request.ring_bytes > 0) return request.ring_bytes;
  constexpr std::size_t kLeast = 1 << 20;
  constexpr std::size_t kMost = 32 << 20;
  constexpr std::size_t kMostTogether = 48 << 20;
  constexpr std::size_t kTracepointsPerSecond = 8000;  // context switches of a busy CPU
  std::size_t per_second = 0;
  for (const auto& event : request.events)
    per_second += (event.each_time() ? kTracepointsPerSecond : event.rate) *
                  (std::size_t{event.stack_bytes} + 512);
  const auto cpus = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const auto most = std::clamp(std::bit_floor(kMostTogether / cpus), kLeast, kMost);
  return std::clamp(std::bit_ceil(per_second / 4), kLeast, most);
}

}  // namespace clrscope::collect::perf
