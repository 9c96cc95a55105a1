// Threads of another process, held still by ptrace. Internal to the room.
//
// Belongs to the OS thread that made it: that is the tracer. Should it end, or all of us be killed,
// the kernel lets the threads go on as if nothing had been, pending signals included; that is also
// the only way out for a thread that never came to a stop.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "unwind/unwinder.h"

namespace clrscope::inspect {

struct StoppedThread {
  pid_t tid = 0;
  bool stopped = false;  // only then it may be looked at
  int signal = 0;        // that it was about to get; it gets it when let go
  TraceTime moved{};     // when it was last seen not to stand still

  Result<user_regs_struct> registers() const;
};

unwind::Registers registers_of(const user_regs_struct& user);

class StoppedThreads {
 public:
  explicit StoppedThreads(pid_t pid) : pid_(pid) {}
  ~StoppedThreads() { release(); }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  // Tells them to stop. Those that have ended, or that are held already, are left out.
  Result<> add(std::span<const pid_t> tids);
  // Until each has stopped or ended; false when the deadline came first.
  bool wait(const Deadline& deadline);
  // Lets those that have stopped go on; afterwards pause() is the longest that one of them may have
  // stood still.
  void release();
  // Some have neither stopped nor ended, and one of these is not just waiting for a CPU.
  bool hangs() const;

  std::span<const StoppedThread> threads() const { return threads_; }
  std::chrono::nanoseconds pause() const { return pause_; }

 private:
  enum class Come : std::uint8_t { kStopped, kGone, kNotYet };
  static Come look(StoppedThread& thread);

  pid_t pid_;
  std::vector<StoppedThread> threads_;
  std::chrono::nanoseconds pause_{};
};

}  // namespace clrscope::inspect
