#include "collect/perf/rights.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/io.h"
#include "base/proc.h"
#include "base/seccomp.h"
#include "collect/perf/perf_attr.h"
#include "collect/perf/tracefs.h"

namespace clrscope::collect::perf {
namespace {

using Works = Right::Works;

// Reaches the kernel's own code with nothing to read: EFAULT then, EACCES where it is forbidden
// altogether. Anything else comes from a filter before it.
int errno_of_empty_call() {
  if (::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0) return 0;
  return errno;
}

enum class Reach { kKernel, kFiltered, kKilled, kNoSuchCall };

Reach reach() {
  if (!under_seccomp())
    return errno_of_empty_call() == ENOSYS ? Reach::kNoSuchCall : Reach::kKernel;
  const auto number = errno_in_child(errno_of_empty_call);
  if (number < 0) return Reach::kKilled;
  return number == EFAULT || number == EACCES ? Reach::kKernel : Reach::kFiltered;
}

std::string paranoid_text() {
  const auto value = perf_event_paranoid();
  return value ? fmt::format("kernel.perf_event_paranoid is {}", *value)
               : std::string{"kernel.perf_event_paranoid cannot be read"};
}

constexpr const char* kFilterHint =
    "allow perf_event_open in the container's seccomp profile (docker: --security-opt "
    "seccomp=FILE, or --cap-add PERFMON with a recent engine)";

Error filtered_error(Reach how) {
  if (how == Reach::kNoSuchCall)
    return {Errc::kUnsupported, "this kernel has no perf_event_open",
            "use a kernel with CONFIG_PERF_EVENTS"};
  return {Errc::kDenied,
          fmt::format("a seccomp filter {} perf_event_open",
                      how == Reach::kKilled ? "kills processes that call" : "refuses"),
          kFilterHint};
}

Error denied_process(pid_t process) {
  const auto status = proc_status(process);
  if (status && status->uid != ::geteuid()) {
    const auto owner = user_name(status->uid);
    return {Errc::kDenied, fmt::format("process {} belongs to {}", process, owner),
            fmt::format("run as {}, or with CAP_PERFMON and CAP_SYS_PTRACE",
                        status->uid == 0 ? owner : owner + " or as root")};
  }
  if (perf_event_paranoid().value_or(2) > 2)
    return {Errc::kDenied, fmt::format("perf is not permitted for users: {}", paranoid_text()),
            "set sysctl kernel.perf_event_paranoid=2, or run as root or with CAP_PERFMON"};
  return {Errc::kDenied, fmt::format("the kernel denies access to process {}", process),
          "run as root or with CAP_PERFMON; the process changed its user or is not dumpable"};
}

ResolvedEvent cpu_clock(std::uint32_t stack_bytes) {
  EventRequest request;
  request.stack_bytes = stack_bytes;
  auto event = resolve(request);
  CHECK(event.has_value());
  return *std::move(event);
}

// 0, or the errno.
int try_open(const ResolvedEvent& event, const Features& features, Bookkeeping bookkeeping,
             pid_t pid, int cpu) {
  auto attr = make_attr(event, features, bookkeeping);
  for (;;) {
    if (open_event(attr, pid, cpu)) return 0;
    if (errno != EINVAL || (attr.read_format == 0 && attr.build_id == 0)) return errno;
    attr.read_format = 0;  // an older kernel
    attr.build_id = 0;
  }
}

Right cpu_right(Asked asked, pid_t pid, int cpu) {
  const auto event = cpu_clock(kOnCpuStackBytes);
  const auto shown = asked == Asked::kProcess ? pid : 0;
  if (try_open(event, {}, Bookkeeping::kTasks, pid, cpu) == 0)
    return {Works::kYes, "user and kernel code", {}};
  const auto number = try_open(event, {.kernel_part = false}, Bookkeeping::kTasks, pid, cpu);
  if (number != 0) {
    const auto error = refusal(number, asked, shown);
    return {Works::kNo, error.what, error.hint};
  }
  return {Works::kPartly, fmt::format("user code only: {}", paranoid_text()),
          "time in the kernel needs root, CAP_PERFMON or kernel.perf_event_paranoid=1"};
}

Right tracepoint_right(pid_t pid, int cpu) {
  auto event = resolve(context_switch_samples());
  if (!event) return {Works::kNo, event.error().what, event.error().hint};
  const auto number = try_open(*event, {}, Bookkeeping::kNone, pid, cpu);
  if (number == 0) return {Works::kYes, "all, with fields and stacks", {}};
  const auto error = refusal(number, Asked::kTracepoint);
  return {Works::kNo, error.what, error.hint};
}

Right switch_right(const Right& tracepoints, pid_t process) {
  if (tracepoints.works == Works::kYes)
    return {Works::kYes, "with the stack of the waiting thread", {}};
  const auto number =
      try_open(*resolve(switch_records()), {.kernel_part = false}, Bookkeeping::kNone, process, 0);
  if (number == 0)
    return {Works::kPartly,
            fmt::format("when threads run, not where they wait: {}", tracepoints.detail),
            tracepoints.hint};
  const auto error = refusal(number, Asked::kProcess, process);
  return {Works::kNo, error.what, error.hint};
}

}  // namespace

std::optional<int> perf_event_paranoid() {
  const auto text = read_file("/proc/sys/kernel/perf_event_paranoid");
  if (!text) return std::nullopt;
  return std::atoi(text->c_str());
}

Error refusal(int number, Asked asked, pid_t process) {
  if (number == EPERM || number == ENOSYS)
    if (const auto how = reach(); how != Reach::kKernel) return filtered_error(how);
  switch (number) {
    case EACCES:
    case EPERM:
      if (asked == Asked::kProcess) return denied_process(process);
      if (asked == Asked::kMachine)
        return {Errc::kDenied,
                fmt::format("not allowed for the whole machine: {}", paranoid_text()),
                "run as root, with CAP_PERFMON, or set kernel.perf_event_paranoid=0"};
      return {Errc::kDenied, fmt::format("tracepoints are not allowed: {}", paranoid_text()),
              "run as root, with CAP_PERFMON, or set kernel.perf_event_paranoid=-1"};
    case ESRCH:
      return {Errc::kGone, fmt::format("process {} is gone", process)};
    case EMFILE:
      return {Errc::kSystem, "too many perf events for our limit of open files",
              "raise ulimit -n, or record per CPU (-a, needs root or CAP_PERFMON)"};
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return {Errc::kUnsupported, fmt::format("event not supported here: {}", errno_text(number))};
    default:
      return {errc_of(number), fmt::format("perf_event_open failed: {}", errno_text(number))};
  }
}

Rights probe_rights(std::optional<pid_t> process) {
  Rights rights;
  rights.paranoid = perf_event_paranoid();
  if (const auto how = reach(); how != Reach::kKernel) {
    const auto error = filtered_error(how);
    const Right none{Works::kNo, error.what, error.hint};
    rights.machine_cpu = rights.process_cpu = rights.context_switches = rights.tracepoints = none;
    rights.filtered = true;
    return rights;
  }
  const auto pid = process.value_or(::getpid());
  rights.machine_cpu = cpu_right(Asked::kMachine, -1, 0);
  rights.process_cpu = cpu_right(Asked::kProcess, pid, 0);
  rights.tracepoints = tracepoint_right(pid, 0);
  rights.context_switches = switch_right(rights.tracepoints, pid);
  return rights;
}

}  // namespace clrscope::collect::perf
