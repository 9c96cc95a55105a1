#include "base/proc_identity.h"

#include <fmt/format.h>

#include "base/io.h"
#include "base/text.h"

namespace clrscope {

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
