// The collector's handle tables: GCHandles of programs, and the runtime's own.
//
// Their layout is the same on .NET 8, 9 and 10; each piece points back to what it belongs to, and
// is believed only then. Internal to heap/.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspect/gc_table.h"

namespace clrscope::inspect {

enum class HandleKind : std::uint8_t {
  kWeak,
  kWeakLong,  // also after the object's finalizer ran
  kStrong,
  kPinned,
  kVariable,
  kRefCounted,
  kDependent,
  kAsyncPinned,
  kSizedRef,
  kWeakNativeCom,
  kWeakInterior,
  kCrossReference,
};
inline constexpr std::size_t kHandleKinds = 12;
std::string_view name_of(HandleKind kind);  // "weak", "strong", "pinned" …

struct Handle {
  HandleKind kind{};
  std::uint64_t object = 0;
  std::uint64_t extra = 0;  // of a dependent handle: what its object refers to
};
// Those that are in use and not null. kUnsupported when the tables are not as we know them.
Result<std::vector<Handle>> read_handles(Target& target, const GcState& gc);

}  // namespace clrscope::inspect
