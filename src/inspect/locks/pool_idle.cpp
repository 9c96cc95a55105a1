// A worker of the thread pool that waits for work.
#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.LowLevelLifoSemaphore."};

void examine(const WaitScene&, Wait&) {}

}  // namespace

extern const LockKind pool_idle_lock{
    .kind = WaitKind::kPoolIdle, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
