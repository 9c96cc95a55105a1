// CPU samples: a timer of the kernel for each thread's CPU time, and the signal handler that copies
// the registers and the top of the stack of the interrupted thread into a ring.
//
// start(), stop() and look() belong to the control thread. The handler takes no lock, allocates
// nothing, touches no thread-local variable and reads the stack through the kernel, so that it
// cannot fault. The kernel checks these timers on its tick: at most CONFIG_HZ samples a second for
// each processor, whatever the rate; the weight of a sample is the CPU time since the last one. The
// stacks are unwound by clrscope. SIGPROF that is not ours goes to the handler that was there
// before.
#pragma once

#include "agent/recorder.h"

namespace clrscope::agent {

class CpuTimers {
 public:
  constexpr CpuTimers() = default;

  // False: the kernel refuses the timers, or /proc cannot be read.
  bool start(Recorder& recorder, std::uint32_t rate);
  // Disarms all timers, then gives the signal back.
  void stop();
  bool running() const { return on_.load(std::memory_order_acquire); }

  // Finds threads that are new or have ended, and takes the signal again if somebody else took it.
  // Does nothing while the next look is not due.
  void look(std::uint64_t now_ns);

  struct Slot;

 private:
  struct Table;
  friend struct CpuSignal;

  bool take_signal();
  void give_signal_back();
  void list_threads();
  void on_thread(std::uint32_t thread);
  void arm(std::uint32_t thread);
  void disarm(std::uint32_t place);
  void sample(Slot& slot, const std::uint64_t* context, std::uint32_t overrun);

  Recorder* recorder_ = nullptr;
  Table* table_ = nullptr;  // mapped once, stays: a signal may be on its way
  std::atomic<bool> on_{false};
  std::uint64_t period_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t main_stack_end_ = 0;
  std::uint32_t process_ = 0;
  std::uint32_t own_thread_ = 0;
  std::uint32_t round_ = 0;
  bool listed_ = false;  // the threads, at the last look
};

}  // namespace clrscope::agent
