#include "live/item_shapes.h"

namespace clrscope::live {

const Shape& shape_of(const GcItem*) {
  using G = GcItem;
  static const auto shape = describe<G>(
      "GcItem", "A garbage collection that ended",
      {member<&G::time>("time", "start of the collection"),
       member<&G::number>("number", "number of the collection since the process started"),
       member<&G::generation>("generation", "oldest generation that was collected"),
       member<&G::reason>("reason", "why the runtime collected"),
       member<&G::type>("type", "blocking or background"),
       member<&G::pause>("pauseMs", "time all managed threads were paused"),
       member<&G::longest_pause>("longestPauseMs", "longest single pause"),
       member<&G::duration>("durationMs", "time from start to end"),
       member<&G::heap_after>("heapAfter", "heap sizes after the collection")});
  return shape;
}

const Shape& shape_of(const ExceptionItem*) {
  using E = ExceptionItem;
  static const auto shape = describe<E>(
      "ExceptionItem", "An exception that was thrown",
      {member<&E::time>("time", "time of the throw"),
       member<&E::type>("type", "type of the exception"),
       member<&E::message>("message", "message of the exception; needs the scope trace"),
       member<&E::hresult>("hresult", "HRESULT, in hexadecimal"),
       member<&E::thread>("osId", "operating system's thread id"),
       member<&E::number>("number", "number of the exception since watching started")});
  return shape;
}

const Shape& shape_of(const ContentionItem*) {
  using C = ContentionItem;
  static const auto shape = describe<C>(
      "ContentionItem", "A wait for a lock that ended",
      {member<&C::time>("time", "end of the wait"),
       member<&C::thread>("osId", "operating system's id of the waiting thread"),
       member<&C::waited>("waitedMs", "duration of the wait"),
       member<&C::owner>("ownerOsId", "operating system's id of the thread that held the lock"),
       member_unless_empty<&C::lock>("lock", "address of the lock")});
  return shape;
}

const Shape& shape_of(const JitItem*) {
  using J = JitItem;
  static const auto shape = describe<J>(
      "JitItem", "A method that was compiled",
      {member<&J::time>("time", "time the code was ready"),
       member<&J::method>("method", "compiled method"),
       member<&J::tier>("tier", "optimization tier"),
       member<&J::native_bytes>("nativeBytes", Unit::kBytes, "size of the machine code"),
       member<&J::il_bytes>("ilBytes", Unit::kBytes, "size of the IL"),
       member<&J::jit>("jitMs", "time spent compiling")});
  return shape;
}

const Shape& shape_of(const ThreadPoolItem*) {
  using T = ThreadPoolItem;
  static const auto shape =
      describe<T>("ThreadPoolItem", "A change of the thread pool",
                  {member<&T::time>("time", "time of the change"),
                   member<&T::workers>("workers", "active worker threads"),
                   member<&T::threads>("threads", "new target of worker threads"),
                   member_unless_empty<&T::reason>("reason", "why the target changed"),
                   member<&T::throughput>("throughputPerSecond", Unit::kPerSecond,
                                          "completed work items per second")});
  return shape;
}

const Shape& shape_of(const ThreadItem*) {
  using T = ThreadItem;
  static const auto shape =
      describe<T>("ThreadItem", "A managed thread that started",
                  {member<&T::time>("time", "when it began to run"),
                   member<&T::thread>("osId", "operating system's thread id")});
  return shape;
}

const Shape& shape_of(const LiveGap*) {
  using G = LiveGap;
  static const auto shape = describe<G>(
      "LiveGap", "Items that are missing at this place of the stream",
      {member<&G::dropped>("dropped", "events that clrscope dropped because it was too slow"),
       member<&G::left_out>("leftOut", "items left out because there were too many per second")});
  return shape;
}

}  // namespace clrscope::live
