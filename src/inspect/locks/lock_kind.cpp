#include "inspect/locks/lock_kind.h"

#include <algorithm>

namespace clrscope::inspect {

#define LOCK_KIND(name) extern const LockKind name##_lock;
#include "inspect/locks/lock_kinds.inc"
#undef LOCK_KIND

std::span<const LockKind* const> lock_kinds() {
  static constexpr const LockKind* kAll[] = {
#define LOCK_KIND(name) &name##_lock,
#include "inspect/locks/lock_kinds.inc"
#undef LOCK_KIND
  };
  return kAll;
}

std::uint64_t WaitScene::first_word(const std::function<bool(std::uint64_t)>& accept) const {
  const auto end = stack.address + stack.bytes.size();
  for (auto at = stack.registers[unwind::kRsp]; at + 8 <= std::min(until, end); at += 8) {
    std::uint64_t word = 0;
    if (!unwind::StackCopy{stack.address, stack.bytes}.read(at, word)) return 0;
    const bool on_this_stack = word >= stack.address && word < end;
    if (word > 4096 && !on_this_stack && accept(word)) return word;
  }
  return 0;
}

std::uint64_t WaitScene::first_object(const std::function<bool(const TypeInfo&)>& accept) const {
  return first_word([&](std::uint64_t word) {
    const auto* type = objects.type_of(word);
    return type && accept(*type);
  });
}

std::uint32_t WaitScene::os_id_of_managed(std::uint32_t managed_id) const {
  const auto found = std::ranges::find_if(seen.threads, [&](const ThreadView& one) {
    return one.runtime && managed_id != 0 && one.runtime->managed_id == managed_id;
  });
  return found == seen.threads.end() ? 0 : found->os_id();
}

const SyncBlock* WaitScene::monitor_of(std::uint64_t object) const {
  const auto found = std::ranges::find(monitors, object, &SyncBlock::object);
  return found == monitors.end() ? nullptr : &*found;
}

}  // namespace clrscope::inspect
