#include "agent/exceptions.h"

#include "agent/names.h"
#include "agent/stack.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

// Exceptions of this thread that nobody has caught yet, the newest last. One that another replaced
// on its way up is never caught and falls out at the other end.
struct Pending {
  struct Throw {
    std::uint64_t number;
    std::uint64_t time;
    std::uint32_t type;
  };
  static constexpr unsigned kMost = 8;
  Throw throws[kMost];
  unsigned count;

  void push(Throw one) {
    if (count == kMost) {
      for (unsigned i = 1; i < kMost; ++i) throws[i - 1] = throws[i];
      --count;
    }
    throws[count++] = one;
  }
};
thread_local constinit Pending t_pending{};

}  // namespace

void on_exception_thrown(ComObject* runtime, Recorder& recorder, Id object) {
  const auto now = read_tsc();
  const auto number = recorder.next_exception();
  Id type = 0;
  if (call(runtime, info::kGetClassFromObject, object, &type) < 0) type = 0;
  const auto slot = type_slot(runtime, recorder, type);
  t_pending.push({number, now, slot});
  std::uint32_t frames[wire::kMostFrames];
  const auto count = take_stack(runtime, recorder, frames);
  recorder.write(wire::ExceptionThrown{.header = {.kind = wire::RecordKind::kExceptionThrown,
                                                  .bytes = 0,
                                                  .thread = this_thread(),
                                                  .time = now},
                                       .number = number,
                                       .type = slot,
                                       .frames = count},
                 frames, count);
}

void on_exception_caught(ComObject* runtime, Recorder& recorder, const OwnEvents& events,
                         Id function) {
  if (t_pending.count == 0) return;  // thrown before we listened
  const auto thrown = t_pending.throws[--t_pending.count];
  const auto now = read_tsc();
  const auto method = method_slot(runtime, recorder, function);
  recorder.write(wire::ExceptionCaught{.header = {.kind = wire::RecordKind::kExceptionCaught,
                                                  .bytes = 0,
                                                  .thread = this_thread(),
                                                  .time = now},
                                       .number = thrown.number,
                                       .ticks = now - thrown.time,
                                       .method = method,
                                       .reserved = 0});
  events.write(runtime, recorder,
               CaughtException{.number = thrown.number,
                               .type = thrown.type,
                               .method = method,
                               .ticks = now - thrown.time});
}

}  // namespace clrscope::agent
