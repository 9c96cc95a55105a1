// What a process's cgroup allows it: memory and processors. Versions 1, 2 and hybrid.
//
// A limit of any group above it holds too. Groups that cannot be seen from here (another cgroup
// namespace) limit nothing that we know of.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace clrscope {

struct CgroupLimits {
  std::optional<std::uint64_t> memory_bytes{};  // nothing: unlimited
  std::optional<double> processors{};
};

// `membership` is the text of /proc/PID/cgroup, `mount` the folder that the groups are mounted in.
CgroupLimits cgroup_limits(std::string_view membership, const std::string& mount);
CgroupLimits cgroup_limits(pid_t pid);

// The memory in use by the group whose memory limit binds, without files that the kernel can drop
// at once; nothing: there is no limit, or it cannot be read.
std::optional<std::uint64_t> cgroup_memory_use(std::string_view membership,
                                               const std::string& mount);
std::optional<std::uint64_t> cgroup_memory_use(pid_t pid);

}  // namespace clrscope
