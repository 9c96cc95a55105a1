// Thread.Join: the owner is the thread that must end first.
#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.Thread.Join"};

void examine(const WaitScene& scene, Wait& wait) {
  const auto own = scene.thread.runtime ? scene.thread.runtime->managed_id : 0;
  const auto id_of = [&](std::uint64_t thread) {
    const auto id = scene.objects.field<std::int32_t>(thread, "_managedThreadId").value_or(0);
    return id > 0 ? static_cast<std::uint32_t>(id) : 0;
  };
  wait.object = scene.first_word([&](std::uint64_t word) {
    const auto* type = scene.objects.type_of(word);
    return type && type->name == "System.Threading.Thread" && id_of(word) != own;
  });
  if (wait.object != 0) wait.owner_os_id = scene.os_id_of_managed(id_of(wait.object));
}

}  // namespace

extern const LockKind join_lock{.kind = WaitKind::kJoin, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
