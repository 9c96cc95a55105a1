// Task.Wait, Task.Result, GetAwaiter().GetResult(): a thread that waits for an async method.
//
// Where what the task awaits is there already and its continuation is queued to the very thread
// that waits (its SynchronizationContext), that thread waits for itself.
#include <fmt/format.h>

#include "inspect/locks/lock_kind.h"
#include "inspect/tasks.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {
    "System.Threading.Tasks.Task.SpinThenBlockingWait",
    "System.Threading.Tasks.Task.InternalWait",
    "System.Threading.Tasks.Task.Wait",
};

// The task that will wake this thread; else the first that is not done.
std::uint64_t find_task(const WaitScene& scene) {
  std::uint64_t first = 0;
  const auto waker = scene.first_object([](const TypeInfo& type) {
    return type.name == "System.Threading.Tasks.Task+SetOnInvokeMres";
  });
  const auto woken = scene.first_word([&](std::uint64_t word) {
    const auto* type = scene.objects.type_of(word);
    if (!type || !is_task(*type) || is_completed(scene.objects, word)) return false;
    if (first == 0) first = word;
    const auto next = scene.objects.reference(word, "m_continuationObject");
    return waker != 0 && next != 0 && (next == waker || leads_to(scene.objects, next, waker));
  });
  return woken != 0 ? woken : first;
}

void examine(const WaitScene& scene, Wait& wait) {
  wait.object = find_task(scene);
  if (wait.object == 0) return;
  auto& objects = scene.objects;
  const auto chain = follow_task(objects, wait.object);
  const auto leaf = chain.tasks.back();
  if (const auto method = async_method_of(objects.type_name(wait.object)); !method.empty())
    wait.detail = "of " + method + "()";
  if (leaf != wait.object)
    wait.detail += fmt::format("{}which awaits {}", wait.detail.empty() ? "" : ", ",
                               title_of_task(objects, leaf));
  if (!chain.ready || !scene.thread.runtime) return;
  const auto context =
      objects.reference(scene.thread.runtime->managed_object, "_synchronizationContext");
  if (context == 0 || !leads_to(objects, context, leaf)) return;
  wait.owner_os_id = scene.thread.os_id();
  wait.detail += fmt::format("{}whose continuation is queued to this very thread ({})",
                             wait.detail.empty() ? "" : ", ", objects.type_name(context));
}

}  // namespace

extern const LockKind task_lock{.kind = WaitKind::kTask, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
