// ManualResetEventSlim, and what is made of it: CountdownEvent, Barrier.
#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.ManualResetEventSlim.Wait("};

void examine(const WaitScene& scene, Wait& wait) {
  wait.object = scene.first_object([](const TypeInfo& type) {
    return type.name == "System.Threading.ManualResetEventSlim" ||
           type.base_name == "System.Threading.ManualResetEventSlim";
  });
}

}  // namespace

extern const LockKind event_lock{.kind = WaitKind::kEvent, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
