// Which file of a given name a process has mapped as code.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace clrscope::ipc {

// The path of the first executable mapping of a file called `name` or `other`; nothing when there
// is none or the mappings are hidden. Asks the kernel (6.11 on) for such mappings only, which is
// several times faster than its text.
std::optional<std::string> mapped_file(pid_t pid, std::string_view name, std::string_view other);

// The same from the text of /proc/PID/maps: for older kernels, and to compare.
std::optional<std::string> mapped_file_by_text(pid_t pid, std::string_view name,
                                               std::string_view other);

}  // namespace clrscope::ipc
