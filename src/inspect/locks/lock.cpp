// System.Threading.Lock, from .NET 9 on: it keeps the OS id of its owner.
#include <algorithm>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.Lock."};

void examine(const WaitScene& scene, Wait& wait) {
  const auto owner_of = [&](std::uint64_t lock) {
    return scene.objects.field<std::uint32_t>(lock, "_owningThreadId").value_or(0);
  };
  // Those that the thread holds already lie on its stack too.
  wait.object = scene.first_word([&](std::uint64_t word) {
    const auto* type = scene.objects.type_of(word);
    return type && type->name == "System.Threading.Lock" && owner_of(word) != scene.thread.os_id();
  });
  if (wait.object != 0) wait.owner_os_id = owner_of(wait.object);
  // A Lock wakes up now and then by itself, also in a wait without a timeout.
  wait.timed = std::ranges::any_of(scene.thread.frames, [](const Frame& frame) {
    return frame.method.starts_with("System.Threading.Lock.TryEnter(");
  });
}

}  // namespace

extern const LockKind lock_lock{.kind = WaitKind::kLock, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
