// How much memory a process and its machine have left.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace clrscope::inspect {

// Bytes that no file backs, from the text of /proc/PID/status: what a twin shares.
std::uint64_t own_memory(std::string_view status);
// Bytes until the nearest limit of its control groups (v1, v2 or both), from the text of
// /proc/PID/cgroup; UINT64_MAX when there is none. `root` is /sys/fs/cgroup.
std::uint64_t cgroup_headroom(std::string_view cgroups, const std::string& root);
// The lower of that and what the machine has.
std::uint64_t memory_headroom(pid_t pid);
// An error when a copy-on-write twin may not fit: it is charged for what the process writes while
// the twin lives.
Result<> check_headroom(pid_t pid);

}  // namespace clrscope::inspect
