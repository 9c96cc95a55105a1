// WaitHandle.WaitOne and kin: events, mutexes and semaphores of the runtime's own making.
#include <algorithm>
#include <array>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.WaitHandle."};
constexpr std::array<std::string_view, 5> kTypes{
    "System.Threading.ManualResetEvent", "System.Threading.AutoResetEvent",
    "System.Threading.EventWaitHandle", "System.Threading.Mutex", "System.Threading.Semaphore"};

void examine(const WaitScene& scene, Wait& wait) {
  const auto find = [&](auto accept) {
    if (wait.object == 0) wait.object = scene.first_object(accept);
  };
  find([](const TypeInfo& type) { return std::ranges::find(kTypes, type.name) != kTypes.end(); });
  // The object itself may be in no register any more once its handle has been taken.
  find([](const TypeInfo& type) {
    return type.name == "Microsoft.Win32.SafeHandles.SafeWaitHandle";
  });
}

}  // namespace

extern const LockKind wait_handle_lock{
    .kind = WaitKind::kWaitHandle, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
