// Every object allocated, by type; objects that collections move; calls between managed and native
// code, by method.
//
// The runtime permits these only from its start (CLRSCOPE_AGENT_START in the environment), since it
// compiles other code for them: they make each allocation or call slower. Counted from the start of
// the runtime on, whether somebody listens or not. Totals are written to the rings once a second
// while somebody listens, before something is unloaded, and when the process ends.
#pragma once

#include "agent/recorder.h"
#include "agent/type_counts.h"
#include "wire/heap.h"

namespace clrscope::agent {

class Objects {
 public:
  constexpr Objects() = default;

  // In the runtime's first callback; `features` are wire::StartFeatures. False: no memory.
  bool start(std::uint32_t features);
  std::uint32_t features() const { return features_; }
  std::uint32_t mask() const;

  // On the threads of the app.
  void allocated(ComObject* runtime, Id object, Id type);
  void called_native(Id function) { out_.add(function, 0); }
  void called_managed(Id function) { in_.add(function, 0); }
  // On a thread that collects.
  void moved(std::uint32_t ranges, const Id* from, const Id* to, const std::size_t* bytes);

  // Not faster than once a second, unless it is the last time.
  enum class When : std::uint8_t { kTick, kNow };
  void write(ComObject* runtime, Recorder& recorder, When when);
  // Before the runtime unloads a module or dynamic method: what it owns is written and forgotten.
  void on_unload(ComObject* runtime, Recorder& recorder, Id owner);

 private:
  void write_all(ComObject* runtime, Recorder& recorder);

  std::uint32_t features_ = 0;
  TypeCounts types_;
  TypeCounts out_;  // methods that managed code calls
  TypeCounts in_;   // methods that native code calls
  std::atomic<std::uint64_t> moved_ranges_{0};
  std::atomic<std::uint64_t> moved_bytes_{0};
  std::atomic<std::uint32_t> locked_{0};
  std::uint64_t last_ns_ = 0;
};

}  // namespace clrscope::agent
