#include "analyze/heap_events.h"

#include <gmock/gmock.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Node {
  std::uint64_t address, size, type;
  std::uint64_t references;
};

class HeapEventsTest : public testing::Test {
 protected:
  using At = TestTrace::At;

  void start(std::uint32_t number, std::uint32_t generation = 2, std::uint32_t reason = 1,
             At at = {}) {
    trace_.event(kRuntimeName, 1, 2, at,
                 Payload{}
                     .add(number)
                     .add(generation)
                     .add(reason)
                     .add(0U)
                     .add(std::uint16_t{0})
                     .add(std::uint64_t{0}));
  }
  void end(std::uint32_t number, At at = {}) {
    trace_.event(kRuntimeName, 2, 1, at, Payload{}.add(number).add(2U).add(std::uint16_t{0}));
  }
  static Payload head(std::int32_t index, std::size_t count) {
    return Payload{}.add(index).add(static_cast<std::uint32_t>(count)).add(std::uint16_t{0});
  }
  void nodes(std::int32_t index, std::initializer_list<Node> nodes, At at = {}) {
    auto payload = head(index, nodes.size());
    for (const auto& node : nodes)
      payload.add(node.address).add(node.size).add(node.type).add(node.references);
    trace_.event(kRuntimeName, 18, 0, at, payload);
  }
  void edges(std::int32_t index, std::initializer_list<std::uint64_t> targets, At at = {}) {
    auto payload = head(index, targets.size());
    for (const auto target : targets) payload.add(target).add(0U);
    trace_.event(kRuntimeName, 19, 0, at, payload);
  }
  void root(std::int32_t index, std::uint64_t object, std::uint8_t kind, std::uint32_t flags) {
    trace_.event(kRuntimeName, 16, 0, {},
                 head(index, 1).add(object).add(kind).add(flags).add(std::uint64_t{0x9000}));
  }
  void dependent(std::uint64_t key, std::uint64_t value) {
    trace_.event(kRuntimeName, 17, 0, {}, head(0, 1).add(key).add(value).add(std::uint64_t{1}));
  }
  void static_field(std::uint64_t object, std::uint64_t type, std::uint32_t flags,
                    std::string_view name) {
    trace_.event(kRuntimeName, 38, 0, {},
                 Payload{}
                     .add(1U)
                     .add(std::uint64_t{0})
                     .add(std::uint16_t{0})
                     .add(std::uint64_t{0x9000})
                     .add(object)
                     .add(type)
                     .add(flags)
                     .text(name));
  }
  void type(std::uint64_t id, std::string_view name, std::uint64_t module = 7) {
    trace_.event(kRuntimeName, 15, 0, {},
                 Payload{}
                     .add(1U)
                     .add(std::uint16_t{0})
                     .add(id)
                     .add(module)
                     .add(0U)
                     .add(0U)
                     .add(std::uint8_t{0})
                     .text(name)
                     .add(0U));
  }
  void module(std::uint64_t id, std::string_view path) {
    trace_.event(kRundownName, 154, 1, {},
                 Payload{}
                     .add(id)
                     .add(std::uint64_t{1})
                     .add(0U)
                     .add(0U)
                     .text(path)
                     .text("")
                     .add(std::uint16_t{0}));
  }
  void range(std::uint8_t generation, std::uint64_t start, std::uint64_t used) {
    trace_.event(kRuntimeName, 23, 0, {},
                 Payload{}.add(generation).add(start).add(used).add(used).add(std::uint16_t{0}));
  }

  Result<HeapSnapshot> read(std::uint64_t lost = 0) {
    struct Reads {
      HeapEvents events;
      void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
        events.on_batch(reader, batch);
      }
      void end_of_trace() {}
    } reads;
    trace_.read_into(reads);
    complete_ = reads.events.complete();
    return std::move(reads.events).finish(lost);
  }

  TestTrace trace_;
  bool complete_ = false;
};

TEST_F(HeapEventsTest, PutsObjectsReferencesAndTypesTogether) {
  start(5);
  nodes(0, {{0x300, 24, 1, 2}, {0x100, 32, 2, 0}});
  nodes(1, {{0x200, 40, 1, 1}});
  edges(0, {0x100, 0x200});
  edges(1, {0x300});
  type(1, "Shop.Cart");
  type(2, "System.String", 8);
  module(7, "/app/Shop.Core.dll");
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap) << heap.error().what;
  EXPECT_TRUE(complete_);
  EXPECT_EQ(heap->source, HeapSource::kEvents);
  EXPECT_EQ(heap->pid, 100);
  const auto& graph = heap->graph;
  EXPECT_THAT(graph.addresses, ElementsAre(0x100U, 0x200U, 0x300U));
  EXPECT_THAT(graph.sizes, ElementsAre(32U, 40U, 24U));
  EXPECT_THAT(graph.first_edge, ElementsAre(0U, 0U, 1U, 3U));
  EXPECT_THAT(graph.edges, ElementsAre(2U, 0U, 1U));
  EXPECT_EQ(graph.types[graph.type_of[1]].name, "Shop.Cart");
  EXPECT_EQ(graph.types[graph.type_of[1]].module, "Shop.Core");
  EXPECT_EQ(graph.types[graph.type_of[0]].name, "System.String");
  EXPECT_EQ(graph.types[graph.type_of[0]].id, 2U);
  EXPECT_EQ(heap->unresolved_edges, 0U);
  EXPECT_THAT(heap->notes, IsEmpty());
}

TEST_F(HeapEventsTest, NamesRootsByKindAndLeavesWeakOnesOut) {
  start(5);
  nodes(0, {{0x100, 24, 1, 0}, {0x200, 24, 1, 0}});
  type(1, "Shop.Cart");
  root(0, 0x100, 0, 0);  // stack
  root(1, 0x100, 1, 0);  // finalizer
  root(2, 0x100, 2, 1);  // pinned
  root(3, 0x100, 2, 2);  // weak
  root(4, 0x100, 2, 8);  // ref-counted
  root(5, 0x200, 2, 0);  // strong
  root(6, 0x999, 2, 0);  // of nothing that is known
  static_field(0x200, 1, 0, "s_cart");
  static_field(0x200, 1, 1, "t_cart");
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap);
  std::vector<std::pair<RootKind, std::string>> roots;
  for (const auto& one : heap->graph.roots)
    roots.emplace_back(one.kind, heap->graph.root_names[one.name]);
  using R = RootKind;
  EXPECT_THAT(roots, ElementsAre(std::pair{R::kStack, ""}, std::pair{R::kFinalizer, ""},
                                 std::pair{R::kPinnedHandle, ""}, std::pair{R::kRefCountHandle, ""},
                                 std::pair{R::kStrongHandle, ""},
                                 std::pair{R::kStatic, "s_cart (Shop.Cart)"},
                                 std::pair{R::kThreadStatic, "t_cart (Shop.Cart)"}));
  EXPECT_THAT(heap->notes, Contains(HasSubstr("1 roots lead to no known object")));
}

TEST_F(HeapEventsTest, ADependentHandleIsAReferenceFromKeyToValue) {
  start(5);
  nodes(0, {{0x100, 24, 1, 1}, {0x200, 24, 1, 0}});
  edges(0, {0x100});
  dependent(0x100, 0x200);
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap);
  EXPECT_THAT(heap->graph.edges, ElementsAre(0U, 1U));
  EXPECT_THAT(heap->graph.first_edge, ElementsAre(0U, 2U, 2U));
}

TEST_F(HeapEventsTest, OtherCollectionsAndASecondWalkDoNotCount) {
  start(3, 2, 1);  // induced, but walks nothing
  end(3);
  start(4, 1, 0);
  end(4);
  start(5);
  nodes(0, {{0x100, 24, 1, 0}});
  end(5);
  start(6);
  nodes(0, {{0x100, 24, 1, 0}, {0x200, 24, 1, 0}});
  nodes(1, {{0x300, 24, 1, 0}});  // it is longer than the first
  static_field(0x100, 1, 0, "s_cart");
  end(6);
  const auto heap = read();
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->graph.objects(), 1U);
  EXPECT_THAT(heap->graph.roots, IsEmpty());
}

TEST_F(HeapEventsTest, OtherProcessesDoNotMixIn) {
  start(5);
  nodes(0, {{0x100, 24, 1, 1}});
  nodes(1, {{0x500, 24, 1, 0}}, {.process = 200});
  edges(0, {0x500}, {.process = 200});
  edges(0, {0x100});
  end(5, {.process = 200});
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->pid, 100);
  EXPECT_THAT(heap->graph.addresses, ElementsAre(0x100U));
  EXPECT_THAT(heap->graph.edges, ElementsAre(0U));
}

TEST_F(HeapEventsTest, LostReferencesAreCountedAndOthersStayWithTheirObjects) {
  start(5);
  nodes(0, {{0x100, 24, 1, 2}, {0x200, 24, 1, 2}, {0x300, 24, 1, 2}});
  edges(0, {0x200, 0x300});
  edges(2, {0x100, 0x200});  // 1 is lost: it had as many as the one before
  end(5);
  const auto heap = read(1);
  ASSERT_TRUE(heap);
  EXPECT_THAT(heap->graph.first_edge, ElementsAre(0U, 2U, 2U, 4U));
  EXPECT_THAT(heap->graph.edges, ElementsAre(1U, 2U, 0U, 1U));
  EXPECT_EQ(heap->unresolved_edges, 2U);
  EXPECT_THAT(heap->notes, Contains(HasSubstr("lost 1 events")));
}

TEST_F(HeapEventsTest, AfterLostObjectsNobodyKnowsWhoseReferencesFollow) {
  start(5);
  nodes(0, {{0x100, 24, 1, 1}, {0x200, 24, 1, 0}});
  nodes(2, {{0x500, 24, 1, 1}});
  edges(0, {0x200, 0x100, 0x100});
  end(5);
  const auto heap = read(1);
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->graph.objects(), 3U);
  EXPECT_THAT(heap->graph.edges, ElementsAre(1U));
  EXPECT_EQ(heap->unresolved_edges, 1U);
  EXPECT_THAT(heap->notes, Contains(HasSubstr("about 2 objects are missing")));
}

TEST_F(HeapEventsTest, ATraceThatEndsInTheWalkSaysSo) {
  start(5);
  nodes(0, {{0x100, 24, 1, 3}});
  edges(0, {0x100});
  const auto heap = read();
  ASSERT_TRUE(heap);
  EXPECT_FALSE(complete_);
  EXPECT_EQ(heap->unresolved_edges, 2U);
  EXPECT_THAT(heap->notes, Contains(HasSubstr("did not end")));
}

TEST_F(HeapEventsTest, ATraceWithoutAWalkIsAnError) {
  start(5);
  end(5);
  const auto heap = read();
  ASSERT_FALSE(heap);
  EXPECT_EQ(heap.error().code, Errc::kNotFound);
  EXPECT_THAT(heap.error().hint, HasSubstr("0x1d80001"));
}

TEST_F(HeapEventsTest, CountsThatDoNotFitTheirEventAreCut) {
  start(5);
  trace_.event(kRuntimeName, 18, 0, {},
               Payload{}
                   .add(0)
                   .add(0xffffffffU)
                   .add(std::uint16_t{0})
                   .add(std::uint64_t{0x100})
                   .add(~std::uint64_t{0})
                   .add(std::uint64_t{1})
                   .add(~std::uint64_t{0}));
  trace_.event(kRuntimeName, 19, 0, {}, Payload{}.add(0x7fffffff).add(0xffffffffU));
  trace_.event(kRuntimeName, 38, 0, {}, Payload{}.add(0xffffffffU));
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap);
  ASSERT_EQ(heap->graph.objects(), 1U);
  EXPECT_EQ(heap->graph.size_of(0), ~std::uint64_t{0});
  EXPECT_EQ(heap->unresolved_edges, 0x7fffffffU);
}

TEST_F(HeapEventsTest, RangesAfterTheWalkAreTheGenerations) {
  start(5);
  range(0, 0x10, 0x20);  // as it was before
  nodes(0, {{0x100, 24, 1, 0}, {0x140, 32, 1, 0}, {0x800, 64, 1, 0}});
  range(3, 0x800, 0x100);
  range(2, 0x100, 0x80);
  end(5);
  const auto heap = read();
  ASSERT_TRUE(heap);
  ASSERT_EQ(heap->segments.size(), 2U);
  EXPECT_EQ(heap->segments[0].generation, HeapGeneration::kGen2);
  EXPECT_EQ(heap->segments[0].objects, 2U);
  EXPECT_EQ(heap->segments[0].object_bytes, 56U);
  EXPECT_EQ(heap->segments[0].free_bytes, 0x80U - 56);
  EXPECT_EQ(heap->segments[0].largest_free, 0x28U);
  EXPECT_EQ(heap->segments[1].generation, HeapGeneration::kLarge);
}

}  // namespace
}  // namespace clrscope::analyze
