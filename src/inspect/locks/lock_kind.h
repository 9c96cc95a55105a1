// A kind of wait: the methods that wait, and how to tell what for. One file each, listed in
// lock_kinds.inc.
//
// A new kind: write locks/NAME.cpp with `extern const LockKind NAME_lock`, add LOCK_KIND(NAME) to
// the list. The list's order matters: a kind that waits by means of another comes first (a
// SemaphoreSlim waits by Monitor.Wait).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "inspect/objects.h"
#include "inspect/snapshot.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

// What a lock kind gets to know about a waiting thread.
class WaitScene {
 public:
  const Snapshot& seen;
  const ThreadView& thread;
  const StackImage& stack;
  Objects& objects;
  const std::vector<SyncBlock>& monitors;
  std::uint64_t until = 0;  // the stack from the innermost frame up to here belongs to the wait

  // The first word of that part of the stack that is accepted; 0 when none is.
  std::uint64_t first_word(const std::function<bool(std::uint64_t)>& accept) const;
  // The first object on it whose type is accepted.
  std::uint64_t first_object(const std::function<bool(const TypeInfo&)>& accept) const;

  std::uint32_t os_id_of_managed(std::uint32_t managed_id) const;  // 0: unknown
  const SyncBlock* monitor_of(std::uint64_t object) const;
};

struct LockKind {
  WaitKind kind;
  // A frame waits for this kind when its method begins with one of these.
  std::span<const std::string_view> methods;
  // Fills in what is known of it: object, owner, detail. `wait.kind` may be changed.
  void (*examine)(const WaitScene& scene, Wait& wait);
};

std::span<const LockKind* const> lock_kinds();

}  // namespace clrscope::inspect
