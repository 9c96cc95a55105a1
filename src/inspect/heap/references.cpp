#include "inspect/heap/references.h"

#include <algorithm>
#include <cstring>

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kStep = 1 << 20;  // of a row that is longer than a window
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostEdges = 0xfffffff0;
// What is read ahead beyond an object's end: the segment's rest, at most. Objects that follow each
// other in it are found in the same window.
constexpr std::uint64_t kAhead = 16 << 20;

}  // namespace

void References::read(std::span<const ExtraEdge> extra) {
  auto& graph = heap_.graph;
  const auto objects = graph.objects();
  graph.first_edge.reserve(objects + std::size_t{1});
  graph.edges.reserve(objects + objects / 4);
  bool cut = false;
  for (std::uint32_t object = 0; object < objects; ++object) {
    graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
    cut = cut || graph.edges.size() > kMostEdges;
    if (!cut) add_of(object);
    for (; !extra.empty() && extra.front().from == object; extra = extra.subspan(1))
      graph.edges.push_back(extra.front().to);
  }
  graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  if (cut) heap_.notes.emplace_back("the heap has more references than clrscope can hold");
}

void References::add_of(std::uint32_t object) {
  const auto& layout = *layouts_[heap_.graph.type_of[object]];
  if (!layout.has_references()) return;
  const auto at = heap_.graph.addresses[object];
  const auto size = heap_.graph.size_of(object);
  const auto end = at + size;
  for (const auto& series : layout.series) {
    // The length is that of an object without components, less its size.
    const auto raw = layout.component_size == 0 ? layout.base_size : size;
    const auto length = static_cast<std::int64_t>(raw) + series.length;
    if (length <= 0 || series.offset > size ||
        static_cast<std::uint64_t>(length) > size - series.offset)
      continue;
    add_row(at + series.offset, at + series.offset + static_cast<std::uint64_t>(length), end);
  }
  if (layout.pieces.empty()) return;
  // The header of the object that follows is counted as ours.
  const auto last = end - 8;
  for (auto place = at + layout.first_piece; place < last;) {
    for (const auto& piece : layout.pieces) {
      const auto row = place + std::uint64_t{piece.references} * 8;
      add_row(place, std::min(row, last), end);
      place = row + piece.skipped;
    }
  }
}

void References::add_row(std::uint64_t from, std::uint64_t until, std::uint64_t end) {
  while (from < until) {
    auto size = std::min(until - from, kStep);
    const auto ahead = std::max(end, from + kAhead);
    const auto* bytes = window_.at(from, static_cast<std::size_t>(size), ahead);
    if (!bytes) {  // up to where it cannot be read
      size = std::min(size, kPage - from % kPage);
      bytes = window_.at(from, static_cast<std::size_t>(size), ahead);
    }
    if (!bytes) {
      heap_.unresolved_edges += (until - from) / 8;
      return;
    }
    for (std::uint64_t at = 0; at + 8 <= size; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, sizeof word);
      add(word);
    }
    from += size;
  }
}

}  // namespace clrscope::inspect
