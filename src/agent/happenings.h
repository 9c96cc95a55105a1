// The source "runtime": collections, suspensions, threads, modules, classes, compiled methods.
//
// Any thread of the process may call it. Suspensions follow each other in the whole process, so one
// place is enough for the one that runs; the runtime may resume on another thread than it stopped.
#pragma once

#include "agent/recorder.h"
#include "agent/survivors.h"

namespace clrscope::agent {

struct HappeningContext {
  ComObject* runtime;
  Recorder& recorder;
};

class Happenings {
 public:
  constexpr Happenings() = default;

  // What began before the source was switched on has no beginning.
  void reset();

  void collection_started(const HappeningContext& in, const Collected& collected,
                          std::uint32_t reason);
  void suspend_started(std::uint32_t reason);
  void suspend_finished();
  void suspend_aborted();
  void resume_finished(const HappeningContext& in);
  void thread_started(const HappeningContext& in, Id thread);
  void thread_ended(const HappeningContext& in, Id thread);
  void thread_named(const HappeningContext& in, Id thread, const char16_t* name,
                    std::uint32_t count);
  void module_loaded(const HappeningContext& in, Id module, HResult result);
  void class_loaded(const HappeningContext& in, HResult result);
  void compile_started(Id function);
  void compile_finished(const HappeningContext& in, Id function, HResult result);

 private:
  std::atomic<std::uint64_t> stop_began_{0};
  std::atomic<std::uint64_t> stop_ended_{0};
  std::atomic<std::uint32_t> reason_{0};
};

}  // namespace clrscope::agent
