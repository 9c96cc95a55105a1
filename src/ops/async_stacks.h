// Logical async stacks of a process or core: the use case and its text.
//
// The objects are read from a frozen twin of the process, which pauses it for a few milliseconds,
// or from a core that has the heap. The diagnostic port cannot tell them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/document.h"
#include "base/result.h"
#include "inspect/async/answer.h"
#include "inspect/heap/heap.h"
#include "inspect/target.h"
#include "ops/running_process.h"
#include "ops/stacks.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using inspect::AsyncStacksAnswer;

struct AsyncRequest {
  TargetRequest target{};  // by pid or name
  std::string core{};      // or this core file
  // Two snapshots so far apart: which stacks did not move. Not of a core.
  std::optional<std::chrono::nanoseconds> over{};
  std::span<const int> stop_fds{};  // one of them readable: the second snapshot is taken at once
};
Result<inspect::AsyncSnapshot> take_async_stacks(const AsyncRequest& request);

// One snapshot, of a process by a twin.
Result<inspect::AsyncSnapshot> read_async_stacks(pid_t pid);
Result<inspect::AsyncSnapshot> read_async_stacks_of_core(const std::string& path);

// In a frozen target whose heap has been read.
inspect::AsyncSnapshot async_stacks_in(inspect::Target& target, inspect::RuntimeReader& reader,
                                       const HeapSnapshot& heap);

// What async stacks and requests are read from.
struct Frozen {
  std::unique_ptr<inspect::RuntimeReader> reader;
  HeapSnapshot heap{};
  std::optional<inspect::Snapshot> threads{};
  std::string threads_missing{};  // why
};
// kTimeout when the runtime's types cannot be read: it may have been frozen while it changed them.
// Threads only with references: without, nothing is found that they could wait for.
Result<Frozen> read_frozen(inspect::Target& target, const inspect::HeapOptions& options = {});
inspect::AsyncSnapshot async_stacks_of(inspect::Target& target, const Frozen& frozen);
// Its price, and what may be wrong with it.
void note_twin(inspect::AsyncSnapshot& seen, const inspect::Twin& twin);
// What `read` makes of a twin; of another one when its types could not be read (check_names).
template <class Read>
auto read_twin(pid_t pid, Read read, const inspect::TwinOptions& options = {})
    -> decltype(read(std::declval<inspect::Twin&>())) {
  constexpr int kTwins = 3;
  std::chrono::nanoseconds paused{};  // for all of them
  for (int made = 1;; ++made) {
    auto twin = TRY(inspect::make_twin(pid, options));
    paused += twin.cost.pause;
    twin.cost.pause = paused;
    auto seen = read(twin);
    if (seen || seen.error().code != Errc::kTimeout || made == kTwins) return seen;
  }
}
// The process whose memory is to be copied. `what` is read from it: "async stacks".
Result<RunningProcess> find_frozen_target(const AsyncRequest& request, std::string_view what);
Result<> check_core_alone(const AsyncRequest& request);

FrameLine async_frame_line(const inspect::AsyncSnapshot& seen, const inspect::AsyncStep& step);

Document async_document(const inspect::AsyncSnapshot& seen);
// Without colours, its lines as long as they are.
std::string async_text(const inspect::AsyncSnapshot& seen);
std::string async_json(const inspect::AsyncSnapshot& seen);

}  // namespace clrscope::ops
