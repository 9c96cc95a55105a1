#include "gcdump/gcdump.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "base/io.h"
#include "base/test_data.h"
#include "gcdump/encoding.h"
#include "gcdump/test_heap.h"

namespace clrscope::gcdump {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<HeapSnapshot> read(const std::string& file) { return read_gcdump(as_bytes(file)); }

std::vector<std::tuple<std::uint32_t, RootKind, std::string>> roots_of(const HeapGraph& graph) {
  std::vector<std::tuple<std::uint32_t, RootKind, std::string>> roots;
  for (const auto& root : graph.roots)
    roots.emplace_back(root.object, root.kind, graph.root_names.at(root.name));
  std::ranges::sort(roots);
  return roots;
}

TEST(Gcdump, KeepsTheGraphItsTypesSizesAndAddresses) {
  const auto heap = small_heap();
  const auto back = read(file_of(heap));
  ASSERT_TRUE(back) << back.error().what;
  const auto& graph = back->graph;
  EXPECT_EQ(graph.addresses, heap.graph.addresses);
  EXPECT_EQ(graph.type_of, heap.graph.type_of);
  EXPECT_EQ(graph.first_edge, heap.graph.first_edge);
  EXPECT_EQ(graph.edges, heap.graph.edges);
  EXPECT_EQ(graph.sizes, heap.graph.sizes);
  EXPECT_EQ(graph.huge_sizes, heap.graph.huge_sizes);
  ASSERT_EQ(graph.types.size(), heap.graph.types.size());
  for (std::size_t i = 0; i < graph.types.size(); ++i) {
    EXPECT_EQ(graph.types[i].name, heap.graph.types[i].name);
    EXPECT_EQ(graph.types[i].module, heap.graph.types[i].module);
    EXPECT_EQ(graph.types[i].id, heap.graph.types[i].id);
  }
}

TEST(Gcdump, KeepsRootsOfAllKindsWithTheirNames) {
  const auto heap = small_heap();
  const auto back = read(file_of(heap));
  ASSERT_TRUE(back);
  EXPECT_EQ(roots_of(back->graph), roots_of(heap.graph));
}

TEST(Gcdump, KeepsWhatIsKnownAboutTheHeap) {
  const auto heap = small_heap();
  const auto back = read(file_of(heap));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->source, HeapSource::kFile);
  EXPECT_EQ(back->pid, 4312);
  EXPECT_EQ(back->name, "Shop");
  EXPECT_EQ(back->runtime, "10.0.12");
  EXPECT_EQ(back->taken, heap.taken);
  EXPECT_EQ(back->took, heap.took);
  EXPECT_EQ(back->pause, heap.pause);
  EXPECT_TRUE(back->server_gc);
  EXPECT_EQ(back->unresolved_edges, 2U);
  EXPECT_EQ(back->unread_bytes, 4096U);
  EXPECT_EQ(back->to_finalize, 7U);
  EXPECT_EQ(back->finalizable, std::nullopt);
  EXPECT_THAT(back->notes, ElementsAre("A note."));
  ASSERT_EQ(back->handles.size(), 2U);
  EXPECT_EQ(back->handles[1].kind, "weak short");
  ASSERT_EQ(back->segments.size(), 2U);
  EXPECT_EQ(back->segments[0].committed, 0x1000U);
  EXPECT_EQ(back->segments[0].largest_free, 50U);
  EXPECT_EQ(back->segments[1].generation, HeapGeneration::kFrozen);
}

TEST(Gcdump, KeepsAnEmptyHeap) {
  const auto back = read(file_of({}));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->graph.objects(), 0U);
  EXPECT_THAT(back->graph.roots, IsEmpty());
  EXPECT_THAT(back->graph.first_edge, ElementsAre(0U));
}

TEST(Gcdump, KeepsARandomGraph) {
  std::mt19937 random{1};
  HeapSnapshot heap;
  for (int i = 0; i < 50; ++i) heap.graph.types.push_back({.name = fmt::format("T{}", i)});
  constexpr std::uint32_t kObjects = 20'000;
  for (std::uint32_t i = 0; i < kObjects; ++i) {
    const auto any = [&] { return static_cast<std::uint32_t>(random() % kObjects); };
    add_object(heap.graph, any() % 50, random() % 3 == 0 ? random() % 100'000 : 24, {any(), any()});
    if (i % 100 == 0) heap.graph.roots.push_back({.object = any(), .kind = RootKind::kStack});
  }
  heap.graph.root_names = {""};
  const auto back = read(file_of(heap));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->graph.edges, heap.graph.edges);
  EXPECT_EQ(back->graph.sizes, heap.graph.sizes);
  EXPECT_EQ(back->graph.type_of, heap.graph.type_of);
  EXPECT_EQ(roots_of(back->graph), roots_of(heap.graph));
}

TEST(Gcdump, NumbersOfNodesTakeOneToFiveBytes) {
  for (const std::int64_t value :
       {0L, 1L, -1L, 63L, 64L, -64L, -65L, 8191L, 8192L, -8192L, -8193L, 1048575L, 1048576L,
        -1048577L, 134217727L, 134217728L, -134217729L, 2147483647L, -2147483648L}) {
    std::uint8_t bytes[kLongestNumber];
    const auto number = static_cast<std::int32_t>(value);
    const auto* end = put_number(bytes, number);
    EXPECT_EQ(static_cast<std::size_t>(end - bytes), size_of_number(number)) << value;
    const std::uint8_t* at = bytes;
    std::int32_t back = 0;
    EXPECT_TRUE(take_number(at, end, back)) << value;
    EXPECT_EQ(back, number);
    EXPECT_EQ(at, end);
    at = bytes;
    EXPECT_FALSE(take_number(at, end - 1, back)) << value;
  }
}

TEST(Gcdump, KnowsItsOwnFilesAndNoOldTraces) {
  EXPECT_TRUE(is_gcdump(as_bytes(file_of({})).first(64)));
  ByteWriter trace;
  put_text(trace, kSignature);
  trace.put(std::string_view{"\x04\x04\x01\0\0\0\0\0\0\0\0", 11});
  put_text(trace, "Microsoft.DotNet.Runtime.EventPipeFile");
  trace.write<std::uint8_t>(kEndObject);
  EXPECT_FALSE(is_gcdump(trace.bytes()));
  EXPECT_FALSE(is_gcdump({}));
}

TEST(Gcdump, AFailedWriteEndsTheWriting) {
  int calls = 0;
  const auto done = write_gcdump(small_heap(), [&](Bytes) -> Result<> {
    ++calls;
    return fail(Errc::kNoRoom, "no room");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kNoRoom);
  EXPECT_EQ(calls, 1);
}

// Every prefix is refused with a message, except the last ones, which lack nothing of the graph.
TEST(Gcdump, ReadsAFileThatIsCutBehindItsGraph) {
  const auto heap = small_heap();
  const auto file = file_of(heap);
  std::size_t whole = 0;
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto back = read(file.substr(0, size));
    if (!back) {
      EXPECT_EQ(back.error().code, Errc::kCorrupt);
      EXPECT_EQ(whole, 0U) << "refused at " << size;
      continue;
    }
    ++whole;
    EXPECT_EQ(back->graph.edges, heap.graph.edges);
  }
  EXPECT_GT(whole, 100U);
  const auto cut = read(file.substr(0, file.find("Written by")));
  ASSERT_TRUE(cut);
  ASSERT_FALSE(cut->notes.empty());
  EXPECT_THAT(cut->notes.front(), HasSubstr("ends before its end"));
}

// Builds the beginning of a file by hand.
class HandMade {
 public:
  HandMade() {
    put_text(out_, kSignature);
    begin(kDumpType, kDumpVersion, kDumpReader);
    begin(kGraphType, 1, 0);
    out_.write<std::int64_t>(0);
  }
  HandMade& root(std::int32_t node) { return out_.write(node), *this; }
  HandMade& types(std::initializer_list<std::pair<std::string_view, std::int32_t>> types) {
    out_.write(static_cast<std::int32_t>(types.size()));
    for (const auto& [name, size] : types) {
      put_text(out_, name);
      out_.write(size);
      put_text(out_, "/app/Shop.dll");
    }
    return *this;
  }
  HandMade& places(std::initializer_list<std::uint32_t> places) {
    out_.write(static_cast<std::int32_t>(places.size()));
    for (const auto place : places) out_.write(place);
    return *this;
  }
  HandMade& nodes(std::initializer_list<std::int32_t> numbers) {
    ByteWriter nodes;
    for (const auto number : numbers) {
      std::uint8_t bytes[kLongestNumber];
      nodes.put(Bytes{bytes, static_cast<std::size_t>(put_number(bytes, number) - bytes)});
    }
    out_.write(static_cast<std::int32_t>(nodes.size()));
    out_.put(nodes.bytes());
    return *this;
  }
  HandMade& addresses(std::initializer_list<std::uint64_t> addresses) {
    out_.write(static_cast<std::int32_t>(addresses.size()));
    for (const auto address : addresses) out_.write(address);
    return *this;
  }
  HandMade& number(std::int32_t value) { return out_.write(value), *this; }
  Result<HeapSnapshot> read() {
    out_.write<std::uint8_t>(kEndObject);
    return read_gcdump(out_.bytes());
  }

 private:
  void begin(std::string_view type, std::int32_t version, std::int32_t reader) {
    out_.put(std::string_view{"\x04\x04\x01"});
    out_.write(version), out_.write(reader);
    put_text(out_, type);
    out_.write<std::uint8_t>(kEndObject);
  }
  ByteWriter out_;
};

constexpr std::pair<std::string_view, std::int32_t> kNoType{"UNDEFINED", 0};

TEST(Gcdump, MergesTypesThatDotnetGcdumpSplitsBySize) {
  const auto heap =
      HandMade{}
          .root(-1)
          .types({kNoType, {"System.Byte[]", 24}, {"System.Byte[] (Bytes > 1K)", 2000}})
          .places({0, 2})
          .nodes({2, 0, 5, 3000, 1, -1})
          .addresses({0x10, 0x20})
          .read();
  ASSERT_TRUE(heap) << heap.error().what;
  ASSERT_EQ(heap->graph.types.size(), 1U);
  EXPECT_EQ(heap->graph.types[0].name, "System.Byte[]");
  EXPECT_EQ(heap->graph.types[0].module, "Shop");
  EXPECT_THAT(heap->graph.sizes, ElementsAre(24U, 3000U));
  EXPECT_THAT(heap->graph.edges, ElementsAre(0U));
}

TEST(Gcdump, SortsObjectsByAddressAndCountsReferencesToWhatIsNotDescribed) {
  const auto heap = HandMade{}
                        .root(-1)
                        .types({kNoType, {"Shop.Cart", 24}})
                        .places({2, 6, 0})  // the third is not described
                        .nodes({0, 0, 2, 2, 1, 2, 2, 0})
                        .addresses({0x90, 0x20, 0x50})
                        .read();
  ASSERT_TRUE(heap) << heap.error().what;
  EXPECT_THAT(heap->graph.addresses, ElementsAre(0x20U, 0x90U));
  EXPECT_THAT(heap->graph.first_edge, ElementsAre(0U, 0U, 1U));
  EXPECT_THAT(heap->graph.edges, ElementsAre(0U));
  EXPECT_EQ(heap->unresolved_edges, 1U);
}

TEST(Gcdump, GroupsOfRootsThatReferToEachOtherEnd) {
  const auto heap =
      HandMade{}
          .root(0)
          .types({kNoType, {"[.NET Roots]", 0}, {"[strong Handles]", 0}, {"Shop.Cart", 24}})
          .places({0, 4, 9})
          .nodes({2, 2, 1, 0, 4, 3, -1, 0, 1, 6, 0})
          .addresses({0, 0, 0x20})
          .read();
  ASSERT_TRUE(heap) << heap.error().what;
  ASSERT_EQ(heap->graph.roots.size(), 1U);
  EXPECT_EQ(heap->graph.roots[0].kind, RootKind::kStrongHandle);
}

TEST(Gcdump, RefusesCountsThatDoNotFitIntoTheFile) {
  for (const std::int32_t count : {0x7fffffff, -1, 100'000'000}) {
    const auto types = HandMade{}.root(0).number(count).read();
    ASSERT_FALSE(types);
    EXPECT_THAT(types.error().what, HasSubstr("types"));
    const auto nodes = HandMade{}.root(0).types({kNoType}).number(count).read();
    ASSERT_FALSE(nodes);
    EXPECT_THAT(nodes.error().what, HasSubstr("nodes"));
    const auto bytes = HandMade{}.root(0).types({kNoType}).places({0}).number(count).read();
    ASSERT_FALSE(bytes);
    const auto addresses =
        HandMade{}.root(0).types({kNoType}).places({0}).nodes({0, 0}).number(count).read();
    ASSERT_FALSE(addresses);
    EXPECT_THAT(addresses.error().what, HasSubstr("addresses"));
  }
}

TEST(Gcdump, RefusesNodesThatShareTheirBytesToClaimMoreReferencesThanThereAre) {
  const auto heap = HandMade{}
                        .root(-1)
                        .types({kNoType, {"Shop.Cart", 24}})
                        .places({0, 0, 0, 0})
                        .nodes({2, 3, 0, 0, 0})
                        .addresses({1, 2, 3, 4})
                        .read();
  ASSERT_FALSE(heap);
  EXPECT_THAT(heap.error().what, HasSubstr("more references than bytes"));
}

TEST(Gcdump, RefusesNodesOutsideOfTheirBytesAndUnknownTypes) {
  for (const std::uint32_t place : {5U, 0xffffffffU}) {
    const auto outside =
        HandMade{}.root(-1).types({kNoType}).places({place}).nodes({0, 0}).addresses({1}).read();
    ASSERT_FALSE(outside);
    EXPECT_THAT(outside.error().what, HasSubstr("node 0"));
  }
  EXPECT_FALSE(
      HandMade{}.root(-1).types({kNoType}).places({0}).nodes({2, 0}).addresses({1}).read());
  EXPECT_FALSE(
      HandMade{}.root(-1).types({kNoType}).places({0}).nodes({0, 100}).addresses({1}).read());
}

Result<HeapSnapshot> read_data(std::string_view name) {
  return read(*read_file(test_data(fmt::format("fuzz/gcdump/{}.gcdump", name))));
}

TEST(Gcdump, ReadsAFileAsDotnetGcdumpWritesIt) {
  const auto heap = read_data("by_events");
  ASSERT_TRUE(heap) << heap.error().what;
  const auto& graph = heap->graph;
  EXPECT_THAT(graph.addresses, ElementsAre(0x7f10U, 0x7f60U, 0x7f80U, 0x8000U, 0x9000U));
  EXPECT_THAT(graph.sizes, ElementsAre(56U, 24U, 24U, 25U, 70000U));
  EXPECT_EQ(graph.types.size(), 3U);
  EXPECT_THAT(
      roots_of(graph),
      ElementsAre(std::tuple{0U, RootKind::kStatic, "Shop.Cart[].s_all"},
                  std::tuple{2U, RootKind::kStack, ""}, std::tuple{2U, RootKind::kStrongHandle, ""},
                  std::tuple{2U, RootKind::kRefCountHandle, "CCW 0x9000 for type Shop.Cart"},
                  std::tuple{3U, RootKind::kStrongHandle, ""}));
  EXPECT_EQ(heap->unresolved_edges, 0U);
  EXPECT_EQ(heap->taken, std::chrono::system_clock::time_point{});
}

TEST(Gcdump, ReadsOldFilesOfPerfView) {
  const auto heap = read_data("version7");
  ASSERT_TRUE(heap) << heap.error().what;
  EXPECT_EQ(heap->name, "Shop");
  EXPECT_EQ(heap->pid, 77);
  EXPECT_EQ(heap->graph.types[0].module, "Shop.Core");
  EXPECT_THAT(roots_of(heap->graph), ElementsAre(std::tuple{0U, RootKind::kPinnedHandle, ""}));
}

TEST(Gcdump, ReadsTypesWithoutNamesAndSegmentsOfSeveralGenerations) {
  const auto heap = read_data("deferred");
  ASSERT_TRUE(heap) << heap.error().what;
  EXPECT_EQ(heap->graph.types[0].name, "TypeID(0x1234)");
  EXPECT_EQ(heap->graph.types[0].module, "Shop");
  EXPECT_THAT(roots_of(heap->graph),
              ElementsAre(std::tuple{0U, RootKind::kOther, "TypeID(0x2000) (static var)"}));
  ASSERT_EQ(heap->segments.size(), 4U);
  EXPECT_EQ(heap->segments[0].generation, HeapGeneration::kGen2);
  EXPECT_EQ(heap->segments[0].end, 0x40U);
  EXPECT_EQ(heap->segments[0].objects, 1U);
  EXPECT_EQ(heap->segments[3].generation, HeapGeneration::kLarge);
  EXPECT_THAT(heap->notes, IsEmpty());
}

TEST(Gcdump, WritesWhatItWrote) {
  EXPECT_EQ(*read_file(test_data("fuzz/gcdump/clrscope.gcdump")), file_of(small_heap()));
}

TEST(Gcdump, MutatedFilesAreReadOrRefused) {
  const auto file = file_of(small_heap());
  std::mt19937 random{7};
  for (int round = 0; round < 20'000; ++round) {
    auto changed = file;
    for (auto left = 1 + random() % 4; left > 0; --left)
      changed[random() % changed.size()] = static_cast<char>(random());
    const auto heap = read(changed);
    if (!heap) continue;
    ASSERT_EQ(heap->graph.first_edge.size(), heap->graph.objects() + std::size_t{1});
    for (const auto edge : heap->graph.edges) ASSERT_LT(edge, heap->graph.objects());
    for (const auto& root : heap->graph.roots) ASSERT_LT(root.object, heap->graph.objects());
    for (const auto type : heap->graph.type_of) ASSERT_LT(type, heap->graph.types.size());
  }
}

}  // namespace
}  // namespace clrscope::gcdump
