#include "inspect/heap/finalizers.h"

#include <cstring>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kGenerations = 5;
constexpr std::uint64_t kMostObjects = 1 << 26;

// One array of objects: those that are registered, oldest first, then those that are due.
struct Queue {
  std::uint64_t ends[kGenerations + 2];  // of each generation, of critical ones due, of others due
  std::uint64_t start, end;              // of the array
};

bool is_ordered(const Queue& queue) {
  auto last = queue.start;
  for (const auto end : queue.ends) {
    if (end < last || (end - queue.start) % 8 != 0) return false;
    last = end;
  }
  return last <= queue.end && (queue.end - queue.start) / 8 <= kMostObjects;
}

}  // namespace

Result<FinalizerQueue> read_finalizers(Target& target, const GcState& gc) {
  Memory memory{target.memory()};
  FinalizerQueue found;
  if (gc.finalizers.empty())
    return fail(Errc::kUnsupported, "the collector's queue of finalizers is not known");
  for (const auto address : gc.finalizers) {
    const auto queue = memory.get<Queue>(address);
    if (!queue || !is_ordered(*queue))
      return fail(Errc::kUnsupported, "the collector's queue of finalizers at {:#x} is not valid",
                  address);
    const auto due = queue->ends[kGenerations - 1];
    const auto end = queue->ends[kGenerations + 1];
    found.registered += (due - queue->start) / 8;
    const auto bytes = memory.block(due, end - due);
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t object = 0;
      std::memcpy(&object, bytes.data() + at, sizeof object);
      found.due.push_back(object);
    }
  }
  return found;
}

}  // namespace clrscope::inspect
