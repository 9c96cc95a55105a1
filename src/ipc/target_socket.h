// The socket files of a process that may be hostile.
//
// Folders are opened below its own root and with its rights (base/target_root.h), socket files
// without following a link. What is connected to is what was looked at.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ipc {

// `folder` as the process names it (O_PATH). Where its root may not be opened, the folder of that
// name in ours.
Result<UniqueFd> open_target_folder(pid_t process, const std::string& folder);

// A socket file in an open folder (O_PATH). A link, or another kind of file, is an error.
Result<UniqueFd> open_socket_file(int folder, const std::string& name);

// `path` as discovery tells it: below /proc/PID/root, or as both we and the process name it.
Result<UniqueFd> open_target_socket(pid_t process, const std::string& path);

}  // namespace clrscope::ipc
