// The numbers of threads as we see them, from those that their process sees: they differ in another
// pid namespace, such as that of a container.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>

#include "base/result.h"
#include "model/ids.h"

namespace clrscope::collect {

class OuterThreads {
 public:
  static Result<OuterThreads> of(pid_t pid);

  // The process itself, if the thread has ended before it was asked for.
  ThreadId outer(std::uint32_t thread);

 private:
  OuterThreads(pid_t pid, bool own_numbers) : pid_(pid), own_numbers_(own_numbers) {}
  ThreadId search(std::uint32_t thread) const;

  pid_t pid_;
  bool own_numbers_;  // the process is in another namespace
  std::unordered_map<std::uint32_t, ThreadId> known_;
};

}  // namespace clrscope::collect
