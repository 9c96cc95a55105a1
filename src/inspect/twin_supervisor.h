// The small process that makes a twin, keeps it from running, and ends it. Internal to the room.
//
// It is a fork of ours that reads nothing but the kernel's files and three places of the target's C
// library: whatever our readers do, it does not fall with them. Should it be killed, the kernel
// kills the twin; should we be, it ends the twin by itself.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <memory>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

class TwinSupervisor {
 public:
  struct Registers {
    pid_t tid = 0;
    user_regs_struct user{};
  };

  explicit TwinSupervisor(pid_t pid) : pid_(pid) {}
  static Result<std::unique_ptr<TwinSupervisor>> start(pid_t pid, const TwinOptions& request);
  ~TwinSupervisor() { end(); }
  TwinSupervisor(const TwinSupervisor&) = delete;
  TwinSupervisor& operator=(const TwinSupervisor&) = delete;

  pid_t own_pid() const { return supervisor_; }
  pid_t twin() const { return twin_; }
  const TwinCost& cost() const { return cost_; }  // so far
  // Ends and reaps the twin, and the supervisor; what it has cost in all.
  TwinCost end();
  const std::vector<Registers>& registers() const { return registers_; }

 private:
  pid_t pid_;
  pid_t supervisor_ = 0;
  UniqueFd line_;  // its end tells the other side that we are through
  pid_t twin_ = 0;
  TwinCost cost_;
  std::vector<Registers> registers_;
};

}  // namespace clrscope::inspect
