#include "agent/exceptions.h"

#include "agent/names.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr HResult kStopWalking = kFalse;

// Exceptions of this thread that nobody has caught yet, the newest last. One that another replaced
// on its way up is never caught and falls out at the other end.
struct Pending {
  struct Throw {
    std::uint64_t number;
    std::uint64_t time;
  };
  static constexpr unsigned kMost = 8;
  Throw throws[kMost];
  unsigned count;
  std::uint32_t thread;

  void push(Throw one) {
    if (count == kMost) {
      for (unsigned i = 1; i < kMost; ++i) throws[i - 1] = throws[i];
      --count;
    }
    throws[count++] = one;
  }
};
thread_local constinit Pending t_pending{};

std::uint32_t this_thread() {
  if (t_pending.thread == 0) t_pending.thread = thread_id();
  return t_pending.thread;
}

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

std::uint32_t take_stack(ComObject* runtime, Recorder& recorder, std::uint32_t* frames) {
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

}  // namespace

void on_exception_thrown(ComObject* runtime, Recorder& recorder, Id object) {
  const auto now = read_tsc();
  const auto number = recorder.next_exception();
  t_pending.push({number, now});
  Id type = 0;
  if (call(runtime, info::kGetClassFromObject, object, &type) < 0) type = 0;
  std::uint32_t frames[wire::kMostFrames];
  std::uint32_t count = 0;
  if (recorder.over_budget()) {
    recorder.count(wire::Drop::kOverBudget);
  } else {
    count = take_stack(runtime, recorder, frames);
  }
  recorder.write(wire::ExceptionThrown{.header = {.kind = wire::RecordKind::kExceptionThrown,
                                                  .bytes = 0,
                                                  .thread = this_thread(),
                                                  .time = now},
                                       .number = number,
                                       .type = type_slot(runtime, recorder, type),
                                       .frames = count},
                 frames, count);
}

void on_exception_caught(ComObject* runtime, Recorder& recorder, Id function) {
  if (t_pending.count == 0) return;  // thrown before we listened
  const auto thrown = t_pending.throws[--t_pending.count];
  const auto now = read_tsc();
  recorder.write(wire::ExceptionCaught{.header = {.kind = wire::RecordKind::kExceptionCaught,
                                                  .bytes = 0,
                                                  .thread = this_thread(),
                                                  .time = now},
                                       .number = thrown.number,
                                       .ticks = now - thrown.time,
                                       .method = method_slot(runtime, recorder, function),
                                       .reserved = 0});
}

}  // namespace clrscope::agent
