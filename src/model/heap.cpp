#include "model/heap.h"

namespace clrscope {

std::span<const std::string_view> names_of(HeapGeneration) {
  static constexpr std::string_view kNames[] = {"gen0",   "gen1",   "gen2",   "large",
                                                "pinned", "frozen", "unknown"};
  return kNames;
}

std::span<const std::string_view> names_of(RootKind) {
  static constexpr std::string_view kNames[] = {
      "static field",  "thread static",    "stack",           "strong handle",
      "pinned handle", "ref-count handle", "finalizer queue", "other"};
  return kNames;
}

std::span<const std::string_view> names_of(HeapSource) {
  static constexpr std::string_view kNames[] = {"snapshot", "core", "events", "file"};
  return kNames;
}

}  // namespace clrscope
