// What both the making and the reaping of a twin need: a process held by ptrace, and a thread of it
// that makes calls for us. Internal to the room; runs in the supervisor.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "inspect/inject_x64.h"
#include "inspect/proc_view.h"
#include "inspect/stopped_threads.h"
#include "inspect/twin_supervisor.h"

namespace clrscope::inspect {

struct Surgery {
  ProcView proc;
  std::unique_ptr<MemorySource> memory;
  Gadgets gadgets;

  static Result<Surgery> prepare(pid_t pid);
};

std::vector<TwinSupervisor::Registers> registers_of_all(const StoppedThreads& stopped);
// The best to make a call with: one that waits for a futex, which is simply waited for again. 0:
// none.
pid_t caller_among(std::span<const TwinSupervisor::Registers> registers,
                   std::span<const StoppedThread> threads);

// Has the process itself take leave of its ended twins, by one thread; how long that one stood
// still, the sum of all. Again and again while another tracer is at it, such as the supervisor of a
// later twin, but not forever.
std::chrono::nanoseconds reap_twins(const Surgery& surgery);
// Of an earlier visit that was killed: once, if it can be done.
std::chrono::nanoseconds try_to_reap_twins(const Surgery& surgery);

}  // namespace clrscope::inspect
