#include "inspect/heap/object_walk.h"

#include <algorithm>
#include <cstring>

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kTableBits = ~std::uint64_t{7};  // the others are the collector's marks
constexpr int kChain = 16;                               // objects that prove each other
constexpr std::uint64_t kPatience = 1 << 26;
constexpr std::uint64_t kChainPatience = 64;  // that a step of a chain costs
constexpr std::size_t kAhead = 64 << 10;
constexpr std::uint32_t kMostObjects = 0xfffffff0;

}  // namespace

ObjectWalk::ObjectWalk(Target& target, MethodTables& tables, HeapSnapshot& heap)
    : window_(target.memory()),
      ahead_(target.memory(), kAhead),
      tables_(tables),
      heap_(heap),
      patience_(kPatience) {
  if (auto mappings = target.mappings()) mappings_ = *std::move(mappings);
  std::ranges::sort(mappings_, {}, &Mapping::start);
}

void ObjectWalk::walk(const GcSegment& segment) {
  auto& here = heap_.segments.emplace_back(HeapSegment{.start = segment.start,
                                                       .end = segment.end,
                                                       .committed = segment.committed,
                                                       .generation = segment.generation,
                                                       .heap = segment.heap});
  auto context = contexts_.lower_bound(segment.start);
  for (auto at = segment.start; at < segment.end;) {
    while (context != contexts_.end() && context->first < at) ++context;
    if (context != contexts_.end() && context->first == at) {
      at = std::min(context->second + ObjectLayout::kLeastObject, segment.end);
      continue;
    }
    const auto object = object_at(at, segment.end);
    if (object.layout && heap_.graph.objects() < kMostObjects) {
      add(at, object, here);
      at += object.size;
      continue;
    }
    const auto next = resume(at, segment.end);
    if (!next.nothing_there) heap_.unread_bytes += next.at - at;
    at = next.at;
  }
}

ObjectWalk::Seen ObjectWalk::object_at(std::uint64_t at, std::uint64_t end) {
  const auto* const bytes = window_.at(at, 16, end);
  if (!bytes) return {};
  std::uint64_t word = 0;
  std::uint32_t elements = 0;
  std::memcpy(&word, bytes, sizeof word);
  std::memcpy(&elements, bytes + 8, sizeof elements);
  auto* const layout = tables_.find(word & kTableBits);
  if (!layout) return {};
  const auto size = layout->size_of(layout->component_size == 0 ? 0 : elements);
  if (size > end - at) return {};
  return {layout, size};
}

void ObjectWalk::add(std::uint64_t at, const Seen& object, HeapSegment& segment) {
  if (object.layout->is_free) {
    segment.free_bytes += object.size;
    segment.largest_free = std::max(segment.largest_free, object.size);
    return;
  }
  auto& graph = heap_.graph;
  if (object.layout->type == ObjectLayout::kNoType) {
    object.layout->type = static_cast<std::uint32_t>(graph.types.size());
    graph.types.push_back({.id = object.layout->table});
  }
  if (object.size >= HeapGraph::kHuge) {
    graph.huge_sizes[graph.objects()] = object.size;
    graph.sizes.push_back(HeapGraph::kHuge);
  } else {
    graph.sizes.push_back(static_cast<std::uint32_t>(object.size));
  }
  graph.addresses.push_back(at);
  graph.type_of.push_back(object.layout->type);
  ++segment.objects;
  segment.object_bytes += object.size;
}

std::uint64_t ObjectWalk::next_readable(std::uint64_t at, std::uint64_t end) const {
  const auto page = (at & ~std::uint64_t{4095}) + 4096;  // this one cannot be read
  const auto after = std::ranges::upper_bound(mappings_, page, {}, &Mapping::start);
  if (after != mappings_.begin() && page < std::prev(after)->end) return std::min(page, end);
  return after == mappings_.end() ? end : std::min(after->start, end);
}

// There is no object at `at`: memory that was given out and not yet used, or damage.
ObjectWalk::Next ObjectWalk::resume(std::uint64_t at, std::uint64_t end) {
  Next next{.at = at, .nothing_there = true};
  while (next.at < end) {
    const auto* const bytes = window_.at(next.at, 8, end);
    if (patience_-- == 0) return patience_ = 0, Next{end, false};
    if (!bytes) {
      next.nothing_there = false;
      next.at = next_readable(next.at, end);
      continue;
    }
    if (next.at != at &&
        (contexts_.contains(next.at) || (next.at + 16 <= end && chain_follows(next.at, end))))
      return next;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    // The header of the object that follows lies before it; without one it is zeros too.
    if (word != 0 &&
        (next.at + 8 >= end || (word & 0xffffffff) != 0 || !chain_follows(next.at + 8, end)))
      next.nothing_there = false;
    next.at += 8;
  }
  next.at = std::min(next.at, end);
  return next;
}

bool ObjectWalk::chain_follows(std::uint64_t at, std::uint64_t end) {
  for (int i = 0; i < kChain; ++i) {
    if (at == end || (i > 0 && contexts_.contains(at))) return i > 0;
    if (patience_ < kChainPatience) return false;
    const auto* const bytes = ahead_.at(at, 16, end);
    if (!bytes) return false;
    std::uint64_t word = 0;
    std::uint32_t elements = 0;
    std::memcpy(&word, bytes, sizeof word);
    std::memcpy(&elements, bytes + 8, sizeof elements);
    const auto* const layout = word == 0 ? nullptr : tables_.find(word & kTableBits);
    if (!layout) return false;
    patience_ -= kChainPatience;
    const auto size = layout->size_of(layout->component_size == 0 ? 0 : elements);
    if (size > end - at) return false;
    at += size;
  }
  return true;
}

}  // namespace clrscope::inspect
