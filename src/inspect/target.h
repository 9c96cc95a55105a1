// What is looked at: a live process, its frozen twin, or a core, each with memory, mappings and
// threads.
//
// Knows the kernel's side only; what the runtime knows is read by a RuntimeReader. Nothing here
// stops the process, except capture_threads(), which says for how long.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "inspect/memory.h"
#include "unwind/unwinder.h"

namespace clrscope::inspect {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::string path{};  // as the process names it; empty when anonymous
  bool executable = false;
  bool writable = false;
};

// A thread as the kernel knows it.
struct OsThread {
  pid_t tid = 0;            // as we see it
  pid_t namespace_tid = 0;  // as the process sees it: what the runtime calls its OS id
  std::string name{};
  char state = '?';  // R running, S sleeping, D in the kernel, T stopped, Z dead
  std::chrono::nanoseconds cpu{};
  std::optional<int> syscall{};  // that it is blocked in
  std::string wait_channel{};    // the kernel function it sleeps in; empty: unknown
  // Of a blocked thread, without stopping it: rip, rsp and the arguments of its system call. In a
  // core: all.
  unwind::Registers registers{};
};

enum class TargetKind : std::uint8_t { kLive, kTwin, kCore };

class Target {
 public:
  virtual ~Target() = default;

  virtual TargetKind kind() const = 0;
  virtual pid_t pid() const = 0;  // of a twin, the process it is the twin of; of a core, it was
  virtual MemorySource& memory() = 0;
  virtual Result<std::vector<Mapping>> mappings() = 0;
  // Of a twin: those of its original when it was made.
  virtual Result<std::vector<OsThread>> threads() = 0;
  // A file that the process has mapped, by the name that mappings() gives it: the process's own,
  // also in another root or deleted; for a core the one of the same build here.
  virtual Result<UniqueFd> open_file(const std::string& path) = 0;
  // What is missing of it, a line each.
  virtual std::vector<std::string> remarks() { return {}; }
};

Result<std::unique_ptr<Target>> open_process(pid_t pid);
Result<std::unique_ptr<Target>> open_core(const std::string& path);
// What a twin costs the process it was made of: at most all of this together, as far as the faults
// and their price on this machine tell.
struct TwinCost {
  std::chrono::nanoseconds pause{};       // all threads stood still, so that it could be made
  std::uint32_t stops = 0;                // more than one: a collection began just then
  std::chrono::nanoseconds reap_pause{};  // one idle thread stood still, so that it could be reaped
  std::uint64_t copied_pages = 0;         // page faults while it lived
  std::chrono::nanoseconds copying{};     // what these took at most, over its life
  // What the first write to each page that was not copied takes at most, all together: at worst in
  // one full collection.
  std::chrono::nanoseconds first_writes{};

  std::chrono::nanoseconds at_most() const { return pause + reap_pause + copying + first_writes; }
};
// A copy-on-write child of the process that never runs.
struct Twin {
  std::unique_ptr<Target> target{};  // its end is the twin's, who is reaped
  TwinCost cost{};                   // of making it
  std::function<TwinCost()> end{};   // ends it before `target` does, and says what it cost in all
  bool between_collections = false;  // known to be: the heap can be walked
};
struct TwinOptions {
  // The address of the GC's 32-bit count of "structures invalid": while it is not 0 the process is
  // let go and stopped again. 0: never mind; nothing: the runtime's own, where it can be found.
  std::optional<std::uint64_t> gc_invalid_counter{};
  bool force = false;  // also when there may be too little memory for it
};
// kDenied when there is too little memory for what it may cost, or clone is forbidden to the
// process; kUnsupported without a known C library; kTimeout when it never is between collections.
Result<Twin> make_twin(pid_t pid, const TwinOptions& request = {});

// Registers and stacks of threads as they were at one moment.
struct CapturedThread {
  pid_t tid = 0;
  unwind::Registers registers{};
  std::uint64_t stack_address = 0;  // of stack[0]: the stack pointer less the red zone
  std::vector<std::uint8_t> stack{};
};
struct Capture {
  std::vector<CapturedThread> threads{};  // those that could be stopped
  std::chrono::nanoseconds pause{};       // the longest that any of them stood still
};
// Stops these threads together, reads registers and at most `stack_bytes` of each stack, lets them
// go. The process is as it was, whenever we end. Threads that have ended or hang in the kernel are
// left out; one that gets no CPU to stop on is taken when it does. kDenied when we may not, or
// somebody else traces it.
Result<Capture> capture_threads(pid_t pid, std::span<const pid_t> tids, std::size_t stack_bytes);

}  // namespace clrscope::inspect
