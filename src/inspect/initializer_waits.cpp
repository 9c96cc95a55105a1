#include "inspect/initializer_waits.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

// Of the entry: the thread that initializes, the list, the type's method table.
constexpr std::uint64_t kTypeAt = 16;
constexpr std::string_view kConstructor = "..cctor(";

bool runs_constructor(const ThreadView& thread) {
  return std::ranges::any_of(thread.frames, [](const Frame& frame) {
    return frame.method.find(kConstructor) != std::string::npos;
  });
}

bool runs_constructor_of(const ThreadView& thread, std::string_view type) {
  const auto definition = type.substr(0, type.find_first_of("`["));
  return std::ranges::any_of(thread.frames, [&](const Frame& frame) {
    return frame.method.find(kConstructor) != std::string::npos &&
           frame.method.starts_with(definition);
  });
}

}  // namespace

std::optional<Wait> find_initializer_wait(const WaitScene& scene) {
  std::vector<const ThreadView*> initializing;
  for (const auto& other : scene.seen.threads)
    if (&other != &scene.thread && other.runtime && other.runtime->address != 0 &&
        runs_constructor(other))
      initializing.push_back(&other);
  if (initializing.empty()) return std::nullopt;

  Wait wait{.kind = WaitKind::kTypeInitializer};
  const auto is_entry = [&](std::uint64_t word) {
    const auto thread = scene.objects.memory().pointer(word);
    const auto owner = std::ranges::find_if(
        initializing, [&](const auto* one) { return thread && *thread == one->runtime->address; });
    if (owner == initializing.end()) return false;
    const auto table = scene.objects.memory().pointer(word + kTypeAt);
    const auto* type = table ? scene.objects.type_of_table(*table) : nullptr;
    if (!type || !runs_constructor_of(**owner, type->name)) return false;
    wait.type = type->name;
    wait.owner_os_id = (*owner)->os_id();
    return true;
  };
  if (scene.first_word(is_entry) == 0) return std::nullopt;
  return wait;
}

}  // namespace clrscope::inspect
