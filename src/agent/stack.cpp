#include "agent/stack.h"

#include "agent/names.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr HResult kStopWalking = kFalse;

thread_local constinit std::uint32_t t_thread = 0;

struct Walk {
  Id functions[wire::kMostFrames];
  std::uint32_t count = 0;
  bool cut = false;
};

HResult OnFrame(Id function, Id, Id, std::uint32_t, std::uint8_t*, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  if (function == 0) return kOk;  // native frames
  if (walk.count == wire::kMostFrames) {
    walk.cut = true;
    return kStopWalking;
  }
  walk.functions[walk.count++] = function;
  return kOk;
}

}  // namespace

std::uint32_t take_stack(ComObject* runtime, Recorder& recorder,
                         std::uint32_t (&frames)[wire::kMostFrames]) {
  if (recorder.over_budget()) {
    recorder.count(wire::Drop::kOverBudget);
    return 0;
  }
  Walk walk;
  const auto walked =
      call(runtime, info::kDoStackSnapshot, Id{0}, &OnFrame, std::uint32_t{0},
           static_cast<void*>(&walk), static_cast<std::uint8_t*>(nullptr), std::uint32_t{0});
  if (walk.cut) {
    recorder.count(wire::Drop::kStackCut);
  } else if (walked < 0 && walk.count == 0) {
    recorder.count(wire::Drop::kStackFailed);
  }
  for (std::uint32_t i = 0; i < walk.count; ++i)
    frames[i] = method_slot(runtime, recorder, walk.functions[i]);
  return walk.count;
}

std::uint32_t this_thread() {
  if (t_thread == 0) t_thread = thread_id();
  return t_thread;
}

}  // namespace clrscope::agent
