#include "base/proc_identity.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope {

namespace {

UniqueFd pidfd(pid_t pid) { return UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))}; }

}  // namespace

UniqueFd open_process_fd(pid_t pid, std::uint64_t start_ticks) {
  auto process = pidfd(pid);
  const auto now = process ? proc_identity(pid) : std::nullopt;
  if (!now || now->start_ticks != start_ticks) return {};
  return process;
}

bool has_ended(const UniqueFd& process) {
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, 0) == 1;
}

ProcessEnd::ProcessEnd(pid_t pid) : pid_(pid), process_(pidfd(pid)) {}

bool ProcessEnd::has_come() const { return process_ ? has_ended(process_) : has_ended(pid_); }

std::optional<ProcIdentity> proc_identity(pid_t pid) {
  constexpr std::size_t kState = 0, kStart = 19;  // fields after the name: 3 and 22 of proc(5)
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return std::nullopt;
  const auto end_of_name = stat->rfind(')');  // the name itself may hold blanks and brackets
  if (end_of_name == std::string::npos) return std::nullopt;
  ProcIdentity found;
  std::size_t field = 0;
  for (const auto word : split(trim(std::string_view{*stat}.substr(end_of_name + 1)), ' ')) {
    if (field == kState && !word.empty()) found.state = word[0];
    if (field == kStart) {
      const auto ticks = parse_number(word);
      if (!ticks) return std::nullopt;
      found.start_ticks = *ticks;
      return found;
    }
    ++field;
  }
  return std::nullopt;
}

}  // namespace clrscope
