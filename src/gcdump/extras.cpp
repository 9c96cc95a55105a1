#include "gcdump/extras.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "gcdump/encoding.h"

namespace clrscope::gcdump {
namespace {

using std::chrono::nanoseconds;

// A line stays a line.
std::string one_line(std::string_view text) {
  std::string line{text};
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// The words of a line: a name, then numbers, then perhaps text.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) { name_ = word(); }

  std::string_view name() const { return name_; }
  std::string rest() const { return std::string{rest_}; }
  std::string_view word() {
    const auto end = std::min(rest_.find(' '), rest_.size());
    const auto found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return found;
  }
  std::uint64_t number() { return parse_number(word()).value_or(0); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  std::string_view name_;
};

nanoseconds duration_of(std::uint64_t count) {
  return nanoseconds{static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX))};
}

void set_size(HeapGraph& graph, std::uint64_t object, std::uint64_t size) {
  if (object >= graph.sizes.size() || graph.sizes[object] != kMaxSize) return;
  const bool huge = size >= HeapGraph::kHuge;
  graph.sizes[object] = huge ? HeapGraph::kHuge : static_cast<std::uint32_t>(size);
  if (huge) graph.huge_sizes[static_cast<std::uint32_t>(object)] = size;
}

HeapSegment segment_of(Line& line) {
  HeapSegment segment;
  segment.start = line.number();
  segment.end = std::max(segment.start, line.number());
  segment.committed = line.number();
  const auto generation = line.number();
  segment.generation = static_cast<HeapGeneration>(
      std::min<std::uint64_t>(generation, static_cast<std::uint64_t>(HeapGeneration::kUnknown)));
  segment.heap = static_cast<std::uint32_t>(line.number());
  segment.objects = line.number();
  segment.object_bytes = line.number();
  segment.free_bytes = line.number();
  segment.largest_free = line.number();
  return segment;
}

void apply(Line line, HeapSnapshot& heap) {
  const auto name = line.name();
  if (name == "runtime") {
    heap.runtime = line.rest();
  } else if (name == "server") {
    heap.server_gc = line.number() != 0;
  } else if (name == "taken") {
    heap.taken = std::chrono::system_clock::time_point{duration_of(line.number())};
  } else if (name == "took") {
    heap.took = duration_of(line.number());
  } else if (name == "pause") {
    heap.pause = duration_of(line.number());
  } else if (name == "unread") {
    heap.unread_bytes = line.number();
  } else if (name == "unresolved") {
    heap.unresolved_edges = line.number();
  } else if (name == "finalizable") {
    heap.finalizable = line.number();
  } else if (name == "to-finalize") {
    heap.to_finalize = line.number();
  } else if (name == "large") {
    const auto object = line.number();
    set_size(heap.graph, object, line.number());
  } else if (name == "segment") {
    heap.segments.push_back(segment_of(line));
  } else if (name == "handles") {
    const auto count = line.number();
    heap.handles.push_back({.kind = line.rest(), .count = count});
  } else if (name == "note") {
    heap.notes.push_back(line.rest());
  } else if (name == "types") {
    for (auto& type : heap.graph.types)
      if (!line.at_end()) type.id = line.number();
  }
}

}  // namespace

std::string extras_of(const HeapSnapshot& heap) {
  std::string text{kExtras};
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "runtime {}\nserver {}\n", one_line(heap.runtime), heap.server_gc ? 1 : 0);
  const auto taken = std::chrono::duration_cast<nanoseconds>(heap.taken.time_since_epoch());
  fmt::format_to(out, "taken {}\ntook {}\npause {}\nunread {}\nunresolved {}\n",
                 std::max<std::int64_t>(taken.count(), 0), heap.took.count(), heap.pause.count(),
                 heap.unread_bytes, heap.unresolved_edges);
  if (heap.finalizable) fmt::format_to(out, "finalizable {}\n", *heap.finalizable);
  if (heap.to_finalize) fmt::format_to(out, "to-finalize {}\n", *heap.to_finalize);
  for (std::uint32_t i = 0; i < heap.graph.objects(); ++i)
    if (heap.graph.sizes[i] > kMaxSize)
      fmt::format_to(out, "large {} {}\n", i, heap.graph.size_of(i));
  for (const auto& s : heap.segments)
    fmt::format_to(out, "segment {} {} {} {} {} {} {} {} {}\n", s.start, s.end, s.committed,
                   static_cast<unsigned>(s.generation), s.heap, s.objects, s.object_bytes,
                   s.free_bytes, s.largest_free);
  for (const auto& handle : heap.handles)
    fmt::format_to(out, "handles {} {}\n", handle.count, one_line(handle.kind));
  for (const auto& note : heap.notes) fmt::format_to(out, "note {}\n", one_line(note));
  text += "types";
  for (const auto& type : heap.graph.types) fmt::format_to(out, " {}", type.id);
  text += '\n';
  return text;
}

void apply_extras(std::string_view text, HeapSnapshot& heap) {
  if (!text.starts_with(kExtras)) return;
  heap.segments.clear();  // these tell more
  heap.notes.clear();
  for (const auto line : split(text.substr(kExtras.size()), '\n')) apply(Line{line}, heap);
}

}  // namespace clrscope::gcdump
