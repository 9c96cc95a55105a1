// Monitor.Wait: until somebody pulses the object.
#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.Monitor.Wait(",
                                         "System.Threading.Monitor.ObjWait("};

void examine(const WaitScene& scene, Wait& wait) {
  wait.object =
      scene.first_word([&](std::uint64_t word) { return scene.monitor_of(word) != nullptr; });
}

}  // namespace

extern const LockKind monitor_wait_lock{
    .kind = WaitKind::kMonitorWait, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
