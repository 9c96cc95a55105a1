#include "analyze/heap/growth.h"

#include <algorithm>

namespace clrscope::analyze {
namespace {

// Growth that comes in one jump is a cache that filled, or a burst of work: in each part of the
// time at least this share of the mean rate.
constexpr double kSteady = 0.3;
constexpr std::size_t kPathsOfType = 5;
constexpr std::size_t kFewestLooks = 3;

double seconds_between(const HeapLook& from, const HeapLook& to) {
  return std::max(std::chrono::duration<double>(to.at - from.at).count(), 1e-3);
}

// The number of objects in each look; empty unless it grows steadily.
std::vector<std::uint64_t> steady_counts(const std::string& type, std::span<const HeapLook> looks,
                                         double least_rate) {
  std::vector<std::uint64_t> counts;
  for (const auto& look : looks) {
    const auto found = look.types.find(type);
    counts.push_back(found == look.types.end() ? 0 : found->second.count);
  }
  if (counts.back() <= counts.front()) return {};
  const auto rate = static_cast<double>(counts.back() - counts.front()) /
                    seconds_between(looks.front(), looks.back());
  if (rate < least_rate) return {};
  for (std::size_t i = 1; i < looks.size(); ++i) {
    if (counts[i] <= counts[i - 1]) return {};
    const auto part =
        static_cast<double>(counts[i] - counts[i - 1]) / seconds_between(looks[i - 1], looks[i]);
    if (part < kSteady * rate) return {};
  }
  return counts;
}

bool is_delegate(std::string_view type) {
  const auto plain = type.substr(0, type.find_first_of("`["));
  return plain.ends_with("Handler") || plain.ends_with("Callback") || plain == "System.Action" ||
         plain == "System.Func" || plain.ends_with("Delegate");
}

Holder holder_of(std::span<const HeapStep> path) {
  bool collection = false, handler = false;
  for (const auto& step : path) {
    if (step.root) continue;
    const std::string_view type = step.name;
    if (type.starts_with("System.Threading.Timer")) return Holder::kTimer;
    if (type.starts_with("System.Runtime.CompilerServices.ConditionalWeakTable"))
      return Holder::kWeakTable;
    handler = handler || is_delegate(type);
    collection = collection || type.starts_with("System.Collections.") || type.ends_with("[]");
  }
  return handler ? Holder::kEventHandler : collection ? Holder::kCollection : Holder::kOther;
}

bool is_of_framework(std::string_view type) {
  return type.starts_with("System.") || type.starts_with("Microsoft.");
}

// Objects of one type stand on the path to those of the other.
bool is_above(const GrowingType& upper, const GrowingType& lower) {
  return upper.type != lower.type && std::ranges::any_of(lower.path, [&](const HeapStep& step) {
           return !step.root && step.name == upper.type;
         });
}

// Whether `one` grows only because `other` does. The application's own type is what people look
// for: a timer's or list's parts above it grow with it, its strings and arrays below it too.
bool is_part_of(const GrowingType& one, const GrowingType& other) {
  const bool library = is_of_framework(one.type), other_library = is_of_framework(other.type);
  if (library == other_library) return is_above(other, one);
  return library && (is_above(other, one) || is_above(one, other));
}

}  // namespace

HeapLook look_at(const HeapReport& heap, std::chrono::nanoseconds at) {
  HeapLook look{.at = at};
  const auto& graph = heap.graph().heap();
  const auto& tree = heap.dominators();
  for (auto& row : heap.types()) {
    auto& type = look.types[row.type];
    type.module = std::move(row.module);
    type.retained += row.retained.value_or(0);
  }
  for (std::uint32_t object = 0; object < graph.objects(); ++object) {
    auto& type = look.types[graph.types[graph.type_of[object]].name];
    const auto size = graph.size_of(object);
    if (!tree.reachable(object)) {
      type.retained -= std::min(type.retained, size);  // counted by itself
      continue;
    }
    ++type.count;
    type.bytes += size;
    ++look.objects;
    look.bytes += size;
  }
  return look;
}

std::vector<GrowingType> find_growth(std::span<const HeapLook> looks, const HeapReport& last,
                                     const GrowthLimits& limits) {
  std::vector<GrowingType> growing;
  if (looks.size() < kFewestLooks) return growing;
  const auto seconds = seconds_between(looks.front(), looks.back());
  for (const auto& [name, now] : looks.back().types) {
    auto counts = steady_counts(name, looks, limits.objects_per_second);
    if (counts.empty()) continue;
    const auto first = looks.front().types.find(name);
    const auto before = first == looks.front().types.end() ? 0 : first->second.retained;
    if (now.retained <= before) continue;
    const auto bytes = static_cast<double>(now.retained - before) / seconds;
    if (bytes < limits.bytes_per_second) continue;
    growing.push_back(
        {.type = name,
         .module = now.module,
         .counts = counts,
         .retained_before = before,
         .retained_after = now.retained,
         .objects_per_second = static_cast<double>(counts.back() - counts.front()) / seconds,
         .bytes_per_second = bytes});
  }
  std::ranges::stable_sort(growing, std::greater{}, &GrowingType::bytes_per_second);
  // Paths cost a pass over the heap each.
  constexpr std::size_t kMostWithPath = 12;
  if (growing.size() > kMostWithPath) growing.resize(kMostWithPath);
  for (auto& one : growing) {
    const auto type = last.type(one.type, {.instances = 0, .paths = kPathsOfType});
    if (!type || type->paths.empty()) continue;
    one.path = type->paths.front().steps;
    one.path_objects = type->paths.front().count;
    one.holder = holder_of(one.path);
  }
  std::erase_if(growing, [](const auto& one) {
    return !one.path.empty() && one.path.front().name.starts_with("System.Diagnostics.Tracing.");
  });
  std::vector<GrowingType> made;
  for (const auto& one : growing)
    if (std::ranges::none_of(growing, [&](const auto& other) { return is_part_of(one, other); }))
      made.push_back(one);
  if (made.size() > limits.types) made.resize(limits.types);
  return made;
}

}  // namespace clrscope::analyze
