#include "inspect/thin_locks.h"

#include <algorithm>
#include <map>

namespace clrscope::inspect {
namespace {

// Of an object's header.
constexpr std::uint32_t kNoThinLock = 0x18000000;  // a hash code or a sync block, or being changed
constexpr std::uint32_t kOwner = 0xffff;           // managed id
constexpr std::uint32_t kRecursion = 0x3f;
constexpr unsigned kRecursionShift = 16;
constexpr std::uint64_t kOutermost = 512;  // bytes of the outermost frame that are looked at

bool is_managed(const Frame& frame) {
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
}

}  // namespace

std::vector<Lock> find_thin_locks(const Snapshot& seen, const std::vector<StackImage>& stacks,
                                  Objects& objects) {
  std::map<std::uint64_t, Lock> found;
  for (std::size_t i = 0; i < seen.threads.size(); ++i) {
    const auto& thread = seen.threads[i];
    const auto id = thread.runtime ? thread.runtime->managed_id : 0;
    const auto first = std::ranges::find_if(thread.frames, is_managed);
    if (thread.running || id == 0 || id > kOwner || first == thread.frames.end()) continue;
    // What a method holds in registers, the methods that it calls have saved.
    const auto from = first == thread.frames.begin() ? first->sp : std::prev(first)->sp;
    const auto until = thread.frames.back().sp + kOutermost;
    const unwind::StackCopy stack{stacks[i].address, stacks[i].bytes};
    std::uint64_t word = 0;
    for (auto at = from; at < until && stack.read(at, word); at += 8) {
      const bool on_this_stack =
          word >= stacks[i].address && word - stacks[i].address < stacks[i].bytes.size();
      if (on_this_stack || !objects.may_be_object(word) || found.contains(word)) continue;
      const auto header = objects.header(word);
      if (!header || (*header & kNoThinLock) != 0 || (*header & kOwner) != id) continue;
      const auto* const type = objects.type_of(word);
      if (!type) continue;
      found[word] = {.kind = WaitKind::kMonitor,
                     .object = word,
                     .type = type->name,
                     .owner_os_id = thread.os_id(),
                     .recursion = *header >> kRecursionShift & kRecursion};
    }
  }
  std::vector<Lock> locks;
  for (auto& [object, lock] : found) locks.push_back(std::move(lock));
  return locks;
}

}  // namespace clrscope::inspect
