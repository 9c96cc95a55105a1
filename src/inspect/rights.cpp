#include "inspect/rights.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/seccomp.h"
#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kCapSysPtrace = 1U << 19;

// The value of a line "Key:\tvalue" of /proc/PID/status.
std::string status_value(const std::string& status, std::string_view key) {
  for (const auto line : split(status, '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':')
      return std::string{trim(line.substr(key.size() + 1))};
  return {};
}

// Reaches the kernel and finds no process: ESRCH.
int errno_of_empty_ptrace() { return ::ptrace(PTRACE_SEIZE, 0, nullptr, nullptr) == 0 ? 0 : errno; }

}  // namespace

TraceFacts trace_facts(pid_t pid) {
  TraceFacts facts;
  facts.our_uid = ::geteuid();
  if (const auto status = read_file(fmt::format("/proc/{}/status", pid)))
    facts.tracer = static_cast<pid_t>(parse_number(status_value(*status, "TracerPid")).value_or(0));
  if (facts.tracer != 0)
    if (const auto tracer = proc_status(facts.tracer)) facts.tracer_name = tracer->comm;
  if (const auto status = proc_status(pid)) facts.owner = status->uid;
  facts.owner_name = user_name(facts.owner);
  if (const auto ours = read_file("/proc/self/status")) {
    const auto capabilities = parse_number("0x" + status_value(*ours, "CapEff"));
    facts.we_may_trace_all = (capabilities.value_or(0) & kCapSysPtrace) != 0;
  }
  if (const auto yama = read_file("/proc/sys/kernel/yama/ptrace_scope"))
    facts.yama_scope = static_cast<int>(parse_number(trim(*yama)).value_or(0));
  return facts;
}

std::string trace_hint(const TraceFacts& facts) {
  if (facts.tracer != 0)
    return fmt::format("end {} ({}) first: a process has one tracer at a time",
                       facts.tracer_name.empty() ? "the other tracer" : facts.tracer_name,
                       facts.tracer);
  if (facts.yama_scope == 3)
    return "kernel.yama.ptrace_scope is 3: ptrace is disabled on this machine until it is "
           "restarted";
  if (facts.owner != facts.our_uid && !facts.we_may_trace_all)
    return fmt::format(
        "run as the user that owns the process ({}), or as root; in a container CAP_SYS_PTRACE is "
        "needed for the processes of others",
        facts.owner_name);
  if (facts.yama_scope > 0 && !facts.we_may_trace_all)
    return fmt::format(
        "kernel.yama.ptrace_scope is {}: run as root or with CAP_SYS_PTRACE, or set it to 0",
        facts.yama_scope);
  if (!facts.we_may_trace_all)
    return "run as root: the process is not dumpable, or has more capabilities than clrscope";
  return "run outside of the container: a security module or another user namespace denies it";
}

Failure cannot_trace(std::string_view what, pid_t pid, int error_number) {
  if (error_number == ENOENT || error_number == ESRCH)
    return fail(process_exists(pid) ? Errc::kGone : Errc::kNotFound, "cannot {} process {}: {}",
                what, pid, "it does not exist")
        .hint("clrscope ps lists the .NET processes");
  const auto facts = trace_facts(pid);
  if (facts.tracer != 0 && error_number == EPERM)
    return fail(Errc::kDenied, "cannot {} process {}: it is being traced by {} ({})", what, pid,
                facts.tracer_name.empty() ? "another process" : facts.tracer_name, facts.tracer)
        .hint("{}", trace_hint(facts));
  return fail(errc_of(error_number), "cannot {} process {}: {}", what, pid,
              errno_text(error_number))
      .hint("{}", trace_hint(facts));
}

Result<> may_pause(pid_t pid) {
  if (trace_facts(pid).tracer != 0) return cannot_trace("pause", pid, EPERM);
  // The kernel asks for the same right to open this file as to attach.
  const UniqueFd memory{::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)};
  if (!memory) return cannot_trace("pause", pid, errno);
  if (under_seccomp() && errno_in_child(errno_of_empty_ptrace) != ESRCH)
    return fail(Errc::kDenied, "cannot pause process {}: a seccomp filter refuses ptrace", pid)
        .hint("allow ptrace in the container's seccomp profile (docker: --cap-add SYS_PTRACE)");
  return {};
}

}  // namespace clrscope::inspect
