// Thread.Sleep.
#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.Thread.Sleep"};

void examine(const WaitScene&, Wait&) {}

}  // namespace

extern const LockKind sleep_lock{.kind = WaitKind::kSleep, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
