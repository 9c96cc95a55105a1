// System.Threading.Lock, from .NET 9 on: it keeps the OS id of its owner.
#include <algorithm>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.Lock."};

void examine(const WaitScene& scene, Wait& wait) {
  wait.object =
      scene.first_object([](const TypeInfo& type) { return type.name == "System.Threading.Lock"; });
  const auto owner = scene.objects.field<std::uint32_t>(wait.object, "_owningThreadId").value_or(0);
  if (owner != scene.thread.os_id()) wait.owner_os_id = owner;
  // A Lock wakes up now and then by itself, also when it was told to wait for ever.
  wait.timed = std::ranges::any_of(scene.thread.frames, [](const Frame& frame) {
    return frame.method.starts_with("System.Threading.Lock.TryEnter(");
  });
}

}  // namespace

extern const LockKind lock_lock{.kind = WaitKind::kLock, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
