// lock (object): a Monitor that somebody else is in.
//
// Before .NET 10 the wait is in native code right below the method that locks: then no frame has a
// name to go by, and the contended object on the stack is the sign.
#include <fmt/format.h>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {
    "System.Threading.Monitor.Enter", "System.Threading.Monitor.ReliableEnter",
    "System.Threading.Monitor.TryEnter", "System.Threading.Monitor.ReliableEnterTimeout"};

void examine(const WaitScene& scene, Wait& wait) {
  wait.object = scene.first_word([&](std::uint64_t word) {
    const auto* monitor = scene.monitor_of(word);
    return monitor && monitor->held && monitor->waiters > 0 &&
           monitor->owner_os_id != scene.thread.os_id();
  });
  if (const auto* monitor = scene.monitor_of(wait.object)) wait.owner_os_id = monitor->owner_os_id;
}

}  // namespace

extern const LockKind monitor_lock{
    .kind = WaitKind::kMonitor, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
