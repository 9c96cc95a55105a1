#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "gcdump/encoding.h"
#include "gcdump/extras.h"
#include "gcdump/gcdump.h"
#include "gcdump/root_nodes.h"

namespace clrscope::gcdump {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::int64_t kTicksAt1970 = 621'355'968'000'000'000;  // 100 ns since the year 1

// Numbers of nodes, and places among their bytes, are positive 32-bit numbers.
constexpr std::uint64_t kLongestNodes = 0x7fffffff;
constexpr std::uint64_t kLongestFile = 0xf0000000;  // of its places; some room for what follows

std::int32_t node_size(std::uint64_t bytes) {
  return static_cast<std::int32_t>(std::min<std::uint64_t>(bytes, kMaxSize));
}

class Writer {
 public:
  Writer(const HeapSnapshot& heap, const WriteBytes& write)
      : heap_(heap),
        graph_(heap.graph),
        write_(write),
        roots_(root_nodes(graph_, graph_.objects())),
        type_sizes_(graph_.types.size(), -1) {}

  Result<> run() {
    TRY(check());
    put_text(out_, kSignature);
    begin(kDumpType, kDumpVersion, kDumpReader);
    TRY(put_graph());
    put_rest();
    return flush();
  }

 private:
  Result<> check() {
    const auto objects = graph_.objects();
    const auto nodes = std::uint64_t{objects} + roots_.size();
    const auto types = graph_.types.size() + roots_.size() + 1;
    if (nodes > kLongestNodes || types > kLongestNodes / 2)
      return fail(Errc::kTooLarge, "a .gcdump cannot hold {} objects", objects)
          .hint("the format has 31 bits for the number of an object");
    CHECK(graph_.addresses.size() == objects && graph_.sizes.size() == objects);
    CHECK(objects == 0 || graph_.first_edge.size() == std::size_t{objects} + 1);
    for (std::uint32_t i = 0; i < objects; ++i) {
      CHECK(graph_.type_of[i] < graph_.types.size());
      auto& size = type_sizes_[graph_.type_of[i]];
      if (size < 0) size = node_size(graph_.size_of(i));
    }
    return {};
  }

  // A place of another object in the file; types are written where they are used first.
  std::uint32_t begin(std::string_view type, std::int32_t version, std::int32_t reader) {
    out_.write<std::uint8_t>(kBeginObject);
    const auto place = static_cast<std::uint32_t>(written_ + out_.size());
    out_.write<std::uint8_t>(kBeginObject);
    out_.write<std::uint8_t>(kNull);
    out_.write(version);
    out_.write(reader);
    put_text(out_, type);
    out_.write<std::uint8_t>(kEndObject);
    return place;
  }
  void end() { out_.write<std::uint8_t>(kEndObject); }

  Result<> flush() {
    TRY(write_(out_.bytes()));
    written_ += out_.size();
    out_.clear();
    return {};
  }
  Result<> flush_if_full() { return out_.size() < kPiece ? Result<>{} : flush(); }

  Result<> put_graph() {
    begin(kGraphType, 1, 0);
    std::int64_t bytes = 0;
    for (std::uint32_t i = 0; i < graph_.objects(); ++i) bytes += node_size(graph_.size_of(i));
    out_.write(bytes);
    out_.write(static_cast<std::int32_t>(graph_.objects()));  // the root of all
    TRY(put_types());
    const auto nodes = static_cast<std::int32_t>(graph_.objects() + roots_.size());
    out_.write(nodes);
    TRY(put_places());
    TRY(put_nodes());
    out_.write(nodes);
    for (const auto address : graph_.addresses) {
      out_.write(address);
      TRY(flush_if_full());
    }
    for (std::size_t i = 0; i < roots_.size(); ++i) out_.write<std::uint64_t>(0);
    out_.write<std::uint8_t>(kByte);  // addresses have 64 bits
    out_.write<std::uint8_t>(1);
    end();
    return {};
  }

  Result<> put_types() {
    out_.write(static_cast<std::int32_t>(1 + graph_.types.size() + roots_.size()));
    const auto put = [&](std::string_view name, std::int32_t size, std::string_view module) {
      put_text(out_, name);
      out_.write(size);
      if (module.empty())
        out_.write<std::int32_t>(-1);
      else
        put_text(out_, fmt::format("{}.dll", module));
      return flush_if_full();
    };
    TRY(put(kUndefined, 0, ""));
    for (std::size_t i = 0; i < graph_.types.size(); ++i)
      TRY(put(graph_.types[i].name, type_sizes_[i], graph_.types[i].module));
    for (const auto& root : roots_) TRY(put(root.name, 0, ""));
    return {};
  }

  struct Head {
    std::int32_t type_and_size;
    std::int32_t size = -1;  // -1: that of the type
  };
  Head head_of(std::uint32_t object) const {
    const auto type = graph_.type_of[object];
    const auto size = node_size(graph_.size_of(object));
    const auto number = static_cast<std::int32_t>((type + 1) << 1);
    return type_sizes_[type] == size ? Head{number} : Head{number | 1, size};
  }
  Head head_of_root(std::size_t root) const {
    return {static_cast<std::int32_t>((1 + graph_.types.size() + root) << 1)};
  }

  static std::size_t size_of(const Head& head, std::uint32_t node,
                             std::span<const std::uint32_t> children) {
    auto size = size_of_number(head.type_and_size) +
                size_of_number(static_cast<std::int32_t>(children.size()));
    if (head.size >= 0) size += size_of_number(head.size);
    for (const auto child : children)
      size += size_of_number(static_cast<std::int32_t>(child - node));
    return size;
  }

  // Where each node lies among the nodes' bytes, of which the first two are of the undefined one.
  Result<> put_places() {
    std::uint64_t place = 2;
    const auto put = [&](std::size_t size) -> Result<> {
      out_.write(static_cast<std::uint32_t>(place));
      place += size;
      if (place > kLongestNodes)
        return fail(Errc::kTooLarge, "a .gcdump cannot hold {} references", graph_.edges.size())
            .hint("the format has room for 2 GB of objects and references");
      return flush_if_full();
    };
    const auto objects = graph_.objects();
    for (std::uint32_t i = 0; i < objects; ++i)
      TRY(put(size_of(head_of(i), i, graph_.referred_by(i))));
    for (std::size_t i = 0; i < roots_.size(); ++i)
      TRY(put(
          size_of(head_of_root(i), objects + static_cast<std::uint32_t>(i), roots_[i].children)));
    if (written_ + place + 8 * (objects + roots_.size()) > kLongestFile)
      return fail(Errc::kTooLarge, "a .gcdump cannot hold {} objects", objects)
          .hint("the format has room for 4 GB");
    out_.write(static_cast<std::uint32_t>(place));  // how many bytes the nodes have
    return {};
  }

  Result<> put_node(const Head& head, std::uint32_t node, std::span<const std::uint32_t> children) {
    put(head.type_and_size);
    if (head.size >= 0) put(head.size);
    put(static_cast<std::int32_t>(children.size()));
    for (const auto child : children) {
      put(static_cast<std::int32_t>(child - node));
      TRY(flush_if_full());
    }
    return flush_if_full();
  }
  void put(std::int32_t number) {
    std::uint8_t bytes[kLongestNumber];
    out_.put(Bytes{bytes, static_cast<std::size_t>(put_number(bytes, number) - bytes)});
  }

  Result<> put_nodes() {
    out_.write<std::uint16_t>(0);  // the undefined one: type 0, no children
    const auto objects = graph_.objects();
    for (std::uint32_t i = 0; i < objects; ++i) TRY(put_node(head_of(i), i, graph_.referred_by(i)));
    for (std::size_t i = 0; i < roots_.size(); ++i)
      TRY(put_node(head_of_root(i), objects + static_cast<std::uint32_t>(i), roots_[i].children));
    return {};
  }

  void put_segments() {
    if (heap_.segments.empty()) return out_.write<std::uint8_t>(kNull);
    begin(kHeapInfoType, 0, 0);
    out_.write(std::accumulate(
        heap_.segments.begin(), heap_.segments.end(), std::uint64_t{0},
        [](std::uint64_t sum, const HeapSegment& s) { return sum + (s.end - s.start); }));
    out_.write(static_cast<std::int32_t>(heap_.segments.size()));
    std::optional<std::uint32_t> type;
    for (const auto& segment : heap_.segments) {
      if (type) {
        out_.write<std::uint8_t>(kBeginObject);
        out_.write<std::uint8_t>(kReference);
        out_.write(*type);
      } else {
        type = begin(kSegmentType, 1, 1);
      }
      out_.write(segment.start);
      out_.write(segment.end);
      // The end of each generation in it; a segment of ours is of one.
      const auto mine = segment.generation >= HeapGeneration::kFrozen ? HeapGeneration::kGen2
                                                                      : segment.generation;
      for (auto g = HeapGeneration::kGen0; g <= HeapGeneration::kPinned;
           g = static_cast<HeapGeneration>(static_cast<int>(g) + 1))
        out_.write<std::uint64_t>(g == mine ? segment.end : 0);
      end();
    }
    end();
  }

  void put_rest() {
    out_.write<std::uint8_t>(1);      // 64 bits, once more
    out_.write<float>(1);             // nothing was left out: what counts are multiplied with,
    out_.write<float>(1);             // and sizes
    out_.write<std::uint8_t>(kNull);  // no JavaScript
    put_segments();
    put_text(out_, log());
    const auto taken =
        std::chrono::duration_cast<std::chrono::nanoseconds>(heap_.taken.time_since_epoch())
            .count();
    out_.write<std::int64_t>(taken <= 0 ? 0 : kTicksAt1970 + taken / 100);
    put_text(out_, "");  // of which machine
    put_text(out_, heap_.name);
    out_.write<std::int32_t>(heap_.pid);
    out_.write<std::int64_t>(0);  // committed memory of the process
    out_.write<std::int64_t>(0);  // its working set
    out_.write<std::int32_t>(0);  // no multipliers by type
    out_.write<std::uint8_t>(kSkipRegion);
    out_.write<std::int32_t>(0);      // ends where the forward reference 0 says
    out_.write<std::uint8_t>(kNull);  // no COM objects
    const auto skipped = static_cast<std::uint32_t>(written_ + out_.size());
    out_.write<std::uint8_t>(kText);
    put_text(out_, "clrscope");
    out_.write<std::uint8_t>(kText);
    put_text(out_, extras_of(heap_));
    end();
    end();  // of all objects
    const auto references = static_cast<std::uint32_t>(written_ + out_.size());
    out_.write<std::int32_t>(1);
    out_.write(skipped);
    const auto trailer = static_cast<std::uint32_t>(written_ + out_.size());
    out_.write(references);
    out_.write(trailer);
  }

  std::string log() const {
    std::string text = "Written by clrscope\n";
    for (const auto& note : heap_.notes) text += note + '\n';
    return text;
  }

  const HeapSnapshot& heap_;
  const HeapGraph& graph_;
  const WriteBytes& write_;
  const std::vector<RootNode> roots_;
  std::vector<std::int32_t> type_sizes_;  // of the first object of each type
  ByteWriter out_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<> write_gcdump(const HeapSnapshot& heap, const WriteBytes& write) {
  return Writer{heap, write}.run();
}

}  // namespace clrscope::gcdump
