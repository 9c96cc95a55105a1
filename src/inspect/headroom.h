// How much memory a process and its machine have left.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::inspect {

// Bytes that no file backs, from the text of /proc/PID/status: what a twin shares.
std::uint64_t own_memory(std::string_view status);
// Bytes until the nearest limit of its control groups (v1, v2 or both), from the text of
// /proc/PID/cgroup; UINT64_MAX when there is none. `root` is /sys/fs/cgroup.
std::uint64_t cgroup_headroom(std::string_view cgroups, const std::string& root);
// The lower of that and what the machine has.
std::uint64_t memory_headroom(pid_t pid);
// What a copy-on-write twin may cost its process, estimated before it is made. The pause grows with
// the page tables; the process is charged for what it writes while the twin lives.
struct TwinPrice {
  std::uint64_t own = 0;     // bytes that the twin shares
  std::uint64_t needed = 0;  // bytes that may be copied
  std::uint64_t room = 0;    // bytes until the nearest limit; UINT64_MAX: there is none
  std::chrono::milliseconds least_pause{};
  std::chrono::milliseconds most_pause{};
};
Result<TwinPrice> twin_price(pid_t pid);
// An error when a twin may not fit.
Result<> check_headroom(pid_t pid, const TwinPrice& price);

}  // namespace clrscope::inspect
