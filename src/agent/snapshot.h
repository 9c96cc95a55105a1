// Stacks of all managed threads at one moment: suspends the runtime, walks, resumes, and only then
// asks for names.
//
// Runs on the worker thread, which never runs managed code. Methods may be unloaded between the
// resume and the question for their name: on_unload() makes that wait, or the name stays unknown.
#pragma once

#include "agent/own_events.h"
#include "agent/recorder.h"

namespace clrscope::agent {

// Suspends the runtime; tries again while a garbage collection does. `begin` is when the last
// attempt began.
HResult suspend_runtime(ComObject* runtime, std::uint64_t& begin);

class Snapshot {
 public:
  constexpr Snapshot() = default;

  // The runtime's answer to the suspension; the stacks are in the rings.
  HResult take(ComObject* runtime, Recorder& recorder, const OwnEvents& events);
  // In the runtime's callback before something is unloaded.
  void on_unload();

 private:
  struct Thread {
    std::uint32_t os_id;
    std::uint32_t first;
    std::uint32_t count;
  };
  struct Buffer;
  void walk_threads(ComObject* runtime, Recorder& recorder);
  void write_stacks(Recorder& recorder, std::uint64_t number);

  Buffer* buffer_ = nullptr;  // stays: mapped once
  std::uint64_t number_ = 0;
  std::atomic<std::uint32_t> unloads_{0};
  std::atomic<std::uint32_t> naming_{0};
};

}  // namespace clrscope::agent
