// What each thread waits for, told by its innermost frames and the objects on its stack.
#pragma once

#include <optional>
#include <vector>

#include "inspect/objects.h"
#include "inspect/snapshot.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

// One for each thread of `seen`, in its order; `stacks` likewise.
std::vector<std::optional<Wait>> find_waits(const Snapshot& seen,
                                            const std::vector<StackImage>& stacks, Objects& objects,
                                            const std::vector<SyncBlock>& monitors);

// Whether the system call that a thread is blocked in ends by itself at some time.
bool is_timed(const OsThread& thread);
// "poll", "epoll_wait" …: calls that wait for input or output; empty for other ones.
std::string_view io_call(int number);

}  // namespace clrscope::inspect
