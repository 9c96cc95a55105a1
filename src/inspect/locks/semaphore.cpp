// SemaphoreSlim: it counts, nobody owns it.
#include <fmt/format.h>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.SemaphoreSlim.Wait"};

void examine(const WaitScene& scene, Wait& wait) {
  wait.object = scene.first_object(
      [](const TypeInfo& type) { return type.name == "System.Threading.SemaphoreSlim"; });
  const auto count = scene.objects.field<std::int32_t>(wait.object, "m_currentCount");
  const auto waiting = scene.objects.field<std::int32_t>(wait.object, "m_waitCount");
  if (count && waiting) wait.detail = fmt::format("count {}, {} waiting", *count, *waiting);
}

}  // namespace

extern const LockKind semaphore_lock{
    .kind = WaitKind::kSemaphore, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
