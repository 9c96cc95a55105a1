#include "inspect/heap/strings.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/text.h"
#include "inspect/heap/window.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostShown = 1000;       // values
constexpr std::uint64_t kMostBytes = 8 << 20;  // of a string; longer ones are compared by none
constexpr std::uint32_t kShownUnits = 200;     // of a value
constexpr std::uint64_t kTextAt = 12;

// Strings of hostile programs may be made to collide, and are then counted as equal: they mislead
// about themselves only.
std::uint64_t hash_of(const std::uint8_t* bytes, std::size_t size) {
  std::uint64_t hash = size * 0x9e3779b97f4a7c15;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  };
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    mix(word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes + at, size - at);
  mix(rest);
  return hash;
}

struct Group {
  std::uint32_t first = 0;  // object
  std::uint32_t length = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

std::vector<EqualStrings> count_equal_strings(Target& target,
                                              std::span<ObjectLayout* const> layouts,
                                              const HeapGraph& graph) {
  Window window{target.memory()};
  std::unordered_map<std::uint64_t, Group> groups;
  for (std::uint32_t i = 0; i < graph.objects(); ++i) {
    if (!layouts[graph.type_of[i]]->is_string) continue;
    const auto size = graph.size_of(i);
    if (size > kMostBytes) continue;
    const auto at = graph.addresses[i];
    // The last 8 bytes are the header of what follows; a heap goes on for a window, or is cut.
    const auto* const bytes = window.at(at, size - 8, at + Window::kBytes);
    if (!bytes) continue;
    std::uint32_t length = 0;
    std::memcpy(&length, bytes + 8, sizeof length);
    if (kTextAt + std::uint64_t{length} * 2 > size - 8) continue;
    auto& group = groups[hash_of(bytes + kTextAt, std::size_t{length} * 2)];
    if (group.count++ == 0) group.first = i, group.length = length;
    group.bytes += size;
  }
  std::vector<Group> most;
  for (const auto& [hash, group] : groups)
    if (group.count > 1) most.push_back(group);
  const auto wasted = [](const Group& group) { return group.bytes - group.bytes / group.count; };
  std::ranges::sort(most, [&](const Group& a, const Group& b) {
    return wasted(a) != wasted(b) ? wasted(a) > wasted(b) : a.first < b.first;
  });
  if (most.size() > kMostShown) most.resize(kMostShown);
  std::vector<EqualStrings> found;
  Memory memory{target.memory()};
  for (const auto& group : most)
    found.push_back({.value = memory.text16(graph.addresses[group.first] + kTextAt,
                                            std::min(group.length, kShownUnits)),
                     .length = group.length,
                     .count = group.count,
                     .bytes = group.bytes});
  return found;
}

}  // namespace clrscope::inspect
