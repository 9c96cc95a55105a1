// A system call made by a stopped thread of another process, safe at every instant.
//
// Borrows three places of the target's C library: a system call that returns, one that ends, and
// the return from a signal handler. Below the thread's stack lies a signal frame with all that the
// thread was: should we die while it is in the call, it returns into that frame and goes on as
// after any signal, and a copy that the call has made ends itself. Internal to the room.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>

#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

struct Gadgets {
  std::uint64_t call = 0;     // syscall; return
  std::uint64_t restore = 0;  // rt_sigreturn
  std::uint64_t exit = 0;     // mov eax, edx; syscall
};
// kUnsupported when its C library has no such places.
Result<Gadgets> find_gadgets(const std::vector<Mapping>& mappings, MemorySource& memory);

struct InjectedCall {
  long result = 0;  // or -errno
  pid_t child = 0;  // that a clone has made, as we see it
};
// The thread is held by ptrace, by this OS thread of ours, and is not about to get a signal.
Result<InjectedCall> inject_call(pid_t pid, pid_t tid, const Gadgets& gadgets, long number,
                                 std::array<std::uint64_t, 4> arguments);
// The call clone(flags), whose child is held too.
Result<InjectedCall> inject_clone(pid_t pid, pid_t tid, const Gadgets& gadgets,
                                  std::uint64_t flags);

}  // namespace clrscope::inspect
