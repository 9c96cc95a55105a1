#include <fmt/format.h>

#include <algorithm>

#include "gcdump/encoding.h"
#include "gcdump/extras.h"
#include "gcdump/gcdump.h"
#include "gcdump/graph_builder.h"
#include "gcdump/object_reader.h"
#include "model/heap_segments.h"

namespace clrscope::gcdump {
namespace {

constexpr std::int64_t kTicksAt1970 = 621'355'968'000'000'000;
constexpr std::int64_t kTicksAt2200 = 694'224'000'000'000'000;

std::chrono::system_clock::time_point time_of(std::int64_t ticks) {
  if (ticks <= kTicksAt1970 || ticks > kTicksAt2200) return {};  // none, or nonsense
  return std::chrono::system_clock::time_point{
      std::chrono::nanoseconds{(ticks - kTicksAt1970) * 100}};
}

// Counts from the input that are the sizes of arrays: each element has so many bytes at least.
Result<std::size_t> take_count(ByteReader& in, std::size_t element, std::string_view what) {
  const auto at = in.offset();
  const auto count = in.read<std::int32_t>();
  if (!in.ok() || count < 0 || static_cast<std::size_t>(count) > in.remaining() / element)
    return fail(Errc::kCorrupt, "damaged .gcdump: {} {} at byte {} do not fit into the file", count,
                what, at);
  return static_cast<std::size_t>(count);
}

class FileReader {
 public:
  explicit FileReader(Bytes file) : in_(file), objects_(in_) {}

  Result<HeapSnapshot> run() {
    if (take_text(in_) != kSignature || !in_.ok())
      return fail(Errc::kCorrupt, "not a .gcdump: it does not begin with {}", kSignature);
    const auto dump = TRY(objects_.begin());
    if (!dump || dump->name != kDumpType)
      return fail(Errc::kCorrupt, "not a .gcdump: it holds a {}", dump ? dump->name : "null");
    if (dump->version < 4 || dump->version == 8 || dump->reader > kDumpVersion)
      return fail(Errc::kUnsupported, "version {} of .gcdump is not supported", dump->version)
          .hint("supported: 4 to 7, 9, 10, and later ones that are compatible");
    TRY(read_graph());
    HeapSnapshot heap{.source = HeapSource::kFile};
    // What follows is not needed to understand the graph: a file cut here is still good.
    if (const auto rest = read_rest(dump->version, heap); !rest)
      heap.notes.push_back(rest.error().what);
    graph_.merge_types = !extras_.starts_with(kExtras);
    auto built = TRY(build_graph(graph_));
    heap.graph = std::move(built.graph);
    heap.unresolved_edges = built.unresolved_edges;
    count_objects(heap.graph, heap.segments);
    apply_extras(extras_, heap);
    return heap;
  }

 private:
  Result<> read_graph() {
    const auto type = TRY(objects_.begin());
    if (!type || type->name != kGraphType)
      return fail(Errc::kUnsupported, "the .gcdump holds a {} where a graph is expected",
                  type ? type->name : "null");
    in_.skip(8);  // the sizes of all nodes together
    graph_.root = in_.read<std::int32_t>();
    const auto types = TRY(take_count(in_, 12, "types"));
    graph_.types.reserve(types);
    for (std::size_t i = 0; i < types && in_.ok(); ++i) {
      auto& one = graph_.types.emplace_back();
      one.name = take_text(in_);
      one.size = in_.read<std::int32_t>();
      one.module = take_text(in_);
    }
    const auto nodes = TRY(take_count(in_, 4, "nodes"));
    graph_.places = in_.take(4 * nodes);
    graph_.nodes = in_.take(TRY(take_count(in_, 1, "bytes of nodes")));
    if (type->reader >= 1) TRY(read_deferred_types());
    const auto addresses = TRY(take_count(in_, 8, "addresses"));
    if (addresses != nodes)
      return fail(Errc::kCorrupt, "damaged .gcdump: {} nodes have {} addresses", nodes, addresses);
    graph_.addresses = in_.take(8 * addresses);
    return objects_.end(kGraphType);
  }

  // Names that were to be looked up in symbols later.
  Result<> read_deferred_types() {
    in_.skip(4);  // where this part ends
    const auto count = TRY(take_count(in_, 9, "deferred types"));
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = in_.read<std::uint32_t>();
      const auto module = TRY(objects_.module());
      const auto suffix = take_text(in_);
      if (!in_.ok() || i >= graph_.types.size()) continue;
      auto& type = graph_.types[i];
      if (type.name.empty() && !module.empty()) {
        type.name = fmt::format("TypeID(0x{:x}){}", id, suffix);
        type.module = module;
      }
    }
    return objects_.end("deferred types");
  }

  Result<> read_rest(std::int32_t version, HeapSnapshot& heap) {
    if (version >= 9) {
      in_.skip(1 + 4 + 4);  // 64 bits; multipliers of a sampled graph
      TRY(objects_.skip_empty());
      TRY(read_segments(heap));
    } else {
      in_.skip(3 * 8 + 1);
      if (version < 5) return {};
    }
    (void)take_text(in_);  // a log
    heap.taken = time_of(in_.read<std::int64_t>());
    (void)take_text(in_);  // of which machine
    heap.name = take_text(in_);
    heap.pid = std::max(in_.read<std::int32_t>(), 0);
    in_.skip(8 + 8);  // committed memory, working set
    if (!in_.ok()) return cut();
    if (version < 9) return {};
    in_.skip(4 * TRY(take_count(in_, 4, "multipliers")));
    extras_ = objects_.last_text();
    return {};
  }

  static Failure cut() {
    return fail(Errc::kCorrupt,
                "the file ends before its end: the process, its time and what "
                "was noted about the heap are missing");
  }

  Result<> read_segments(HeapSnapshot& heap) {
    const auto info = TRY(objects_.begin());
    if (!info) return {};
    if (info->name != kHeapInfoType)
      return fail(Errc::kCorrupt, "damaged .gcdump: a {} instead of segments", info->name);
    in_.skip(8);  // their size
    const auto count = TRY(take_count(in_, 6 * 8, "segments"));
    for (std::size_t i = 0; i < count; ++i) {
      const auto type = TRY(objects_.begin());
      if (!type || type->name != kSegmentType)
        return fail(Errc::kCorrupt, "damaged .gcdump: segment {} is not one", i);
      read_segment(type->version >= 1 ? 5 : 4, heap);
      TRY(objects_.end(kSegmentType));
    }
    return objects_.end(kHeapInfoType);
  }

  // Generations lie one after the other in a segment, the oldest first.
  void read_segment(std::size_t generations, HeapSnapshot& heap) {
    const auto start = in_.read<std::uint64_t>();
    const auto end = in_.read<std::uint64_t>();
    std::uint64_t ends[5] = {};
    for (std::size_t g = 0; g < generations; ++g) ends[g] = in_.read<std::uint64_t>();
    auto from = start;
    for (std::size_t g = generations; in_.ok() && g-- > 0;) {
      const auto to = std::min(ends[g], end);
      if (to <= from) continue;
      heap.segments.push_back(
          {.start = from, .end = to, .generation = static_cast<HeapGeneration>(g)});
      from = to;
    }
  }

  ByteReader in_;
  ObjectReader objects_;
  FileGraph graph_;
  std::string extras_;
};

}  // namespace

// Old traces begin with the same signature.
bool is_gcdump(Bytes beginning) {
  ByteReader in{beginning};
  if (take_text(in) != kSignature) return false;
  const auto type = ObjectReader{in}.begin();
  return type && *type && (*type)->name == kDumpType;
}

Result<HeapSnapshot> read_gcdump(Bytes file) { return FileReader{file}.run(); }

}  // namespace clrscope::gcdump
