#include "analyze/heap/report.h"

#include <gmock/gmock.h>

#include "analyze/heap/test_heap.h"

namespace clrscope::analyze {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

std::vector<std::string> names(const std::vector<HeapStep>& steps) {
  std::vector<std::string> all;
  for (const auto& step : steps) all.push_back(step.name);
  return all;
}

// A static list of orders, each with a line and a text; and one order that nobody has.
TestHeap shop(int orders) {
  TestHeap heap;
  const auto list = heap.add("List", 32);
  const auto array = heap.add("Order[]", 1000);
  heap.refer(list, array);
  heap.root(list, RootKind::kStatic, "Shop.Cart.s_all");
  for (int i = 0; i < orders; ++i) {
    const auto order = heap.add("Order", 40);
    const auto text = heap.add("System.String", 60);
    heap.refer(array, order);
    heap.refer(order, text);
  }
  heap.add("Order", 40);
  heap.made();
  return heap;
}

TEST(HeapReport, CountsTypesRootsAndWhatIsUnreachable) {
  const auto heap = shop(10);
  const auto answer = HeapReport{heap.heap}.answer({});
  EXPECT_EQ(answer.heap.objects, 23U);
  EXPECT_EQ(answer.heap.bytes, 32U + 1000 + 10 * 100 + 40);
  EXPECT_EQ(answer.heap.unreachable_objects, 1U);
  EXPECT_EQ(answer.heap.unreachable_bytes, 40U);
  ASSERT_EQ(answer.types.size(), 4U);
  EXPECT_EQ(answer.types[0].type, "Order[]");
  EXPECT_EQ(answer.types[0].retained, 2000U);
  EXPECT_EQ(answer.types[2].type, "Order");
  EXPECT_EQ(answer.types[2].count, 11U);
  EXPECT_EQ(answer.types[2].retained, 1040U);
  ASSERT_EQ(answer.roots.size(), 1U);
  EXPECT_EQ(answer.roots[0].name, "Shop.Cart.s_all");
  EXPECT_EQ(answer.roots[0].retained, 2032U);
  EXPECT_EQ(answer.roots[0].retained_objects, 22U);
  EXPECT_EQ(answer.roots[0].type, "List");
}

TEST(HeapReport, JoinsTheDominatorTreeByType) {
  const auto heap = shop(10);
  const auto answer = HeapReport{heap.heap}.answer({});
  std::vector<std::string> seen;
  std::vector<std::uint64_t> counts;
  std::vector<std::uint32_t> parents;
  for (const auto& node : answer.dominators) {
    seen.push_back(node.name);
    counts.push_back(node.count);
    parents.push_back(node.parent);
  }
  EXPECT_THAT(seen,
              ElementsAre("", "Shop.Cart.s_all", "List", "Order[]", "Order", "System.String"));
  EXPECT_THAT(counts, ElementsAre(0U, 0U, 1U, 1U, 10U, 10U));
  EXPECT_THAT(parents, ElementsAre(0U, 0U, 1U, 2U, 3U, 4U));
  EXPECT_EQ(answer.dominators[4].retained, 1000U);
}

TEST(HeapReport, CutsTheTreeIntoTheLargestAndTheRest) {
  const auto heap = shop(10);
  const auto answer = HeapReport{heap.heap}.answer({.tree = {.nodes = 3}});
  ASSERT_EQ(answer.dominators.size(), 5U);
  EXPECT_EQ(answer.dominators[3].name, "Order[]");
  EXPECT_EQ(answer.dominators[4].kind, HeapNodeKind::kRest);
  EXPECT_EQ(answer.dominators[4].parent, 3U);
  EXPECT_EQ(answer.dominators[4].retained, 1000U);
}

TEST(HeapReport, TreeOfRandomHeapsAddsUp) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto heap = random_heap(seed);
    const HeapReport report{heap};
    if (!report.has_references()) continue;
    const auto tree =
        report.answer({.tree = {.depth = 3, .least_share = 0.1, .nodes = 5}}).dominators;
    std::vector<std::uint64_t> sum(tree.size());
    for (std::size_t at = 0; at < tree.size(); ++at) {
      if (tree[at].kind != HeapNodeKind::kRest) sum[at] += tree[at].bytes;
      if (at > 0) {
        ASSERT_LT(tree[at].parent, at);
        sum[tree[at].parent] += tree[at].retained;
      }
    }
    for (std::size_t at = 0; at < tree.size(); ++at)
      ASSERT_TRUE(tree[at].kind == HeapNodeKind::kRest || sum[at] == tree[at].retained);
  }
}

TEST(HeapReport, MergesPathsOfInstancesAndNamesTheField) {
  const auto heap = shop(10);
  const auto answer = HeapReport{heap.heap}.type("String", {.instances = 2});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->count, 10U);
  ASSERT_EQ(answer->paths.size(), 1U);
  EXPECT_EQ(answer->paths[0].count, 10U);
  EXPECT_EQ(answer->paths[0].steps[0].root, RootKind::kStatic);
  EXPECT_THAT(names(answer->paths[0].steps),
              ElementsAre("Shop.Cart.s_all", "List", "Order[]", "Order", "System.String"));
  ASSERT_EQ(answer->instances.size(), 2U);
  EXPECT_THAT(names(answer->instances[0].path),
              ElementsAre("Shop.Cart.s_all", "List", "Order[]", "Order", "System.String"));
}

TEST(HeapReport, FindsTypesByFullNameSimpleNamePartAndPattern) {
  TestHeap heap;
  for (const auto* type : {"Shop.Order", "Shop.OrderLine", "Other.Order", "List`1[Shop.Order]"})
    heap.add(type);
  heap.made();
  const HeapReport report{heap.heap};
  EXPECT_EQ(report.type("Shop.Order", {})->count, 1U);
  EXPECT_EQ(report.type("Order", {})->count, 2U);
  EXPECT_EQ(report.type("List", {})->count, 1U);
  EXPECT_EQ(report.type("orderl", {})->count, 1U);
  EXPECT_EQ(report.type("Shop.*", {})->count, 2U);
  const auto none = report.type("Ordr", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kNotFound);
  EXPECT_THAT(none.error().hint, testing::HasSubstr("'Order'"));
}

TEST(HeapReport, PrefersAStaticFieldToAHandleThatIsNearer) {
  TestHeap heap;
  const auto table = heap.add("System.Object[]");
  const auto holder = heap.add("Holder");
  const auto order = heap.add("Order");
  heap.refer(table, order);
  heap.refer(holder, order);
  heap.root(table, RootKind::kStrongHandle, "handle");
  heap.root(order, RootKind::kStrongHandle, "handle");
  heap.root(holder, RootKind::kStatic, "Shop.Cart.s_holder");
  heap.made();
  EXPECT_THAT(names(HeapReport{heap.heap}.type("Order", {})->paths[0].steps),
              ElementsAre("Shop.Cart.s_holder", "Holder", "Order"));
}

TEST(HeapReport, JoinsTheNodesOfAListInAPath) {
  TestHeap heap;
  auto last = heap.add("Node");
  heap.root(last, RootKind::kStatic, "s_head");
  for (int i = 0; i < 9; ++i) {
    const auto next = heap.add("Node");
    heap.refer(last, next);
    last = next;
  }
  heap.refer(last, heap.add("Order"));
  heap.made();
  const auto answer = HeapReport{heap.heap}.type("Order", {});
  ASSERT_EQ(answer->instances.size(), 1U);
  EXPECT_THAT(names(answer->instances[0].path), ElementsAre("s_head", "Node", "Order"));
  EXPECT_EQ(answer->instances[0].path[1].times, 10U);
  EXPECT_THAT(names(answer->paths[0].steps), ElementsAre("s_head", "Node", "Order"));
}

TEST(HeapReport, TellsOfAnObjectByAnAddressInIt) {
  const auto heap = shop(3);
  const HeapReport report{heap.heap};
  const auto array = report.object(heap.heap.graph.addresses[1] + 500, 2);
  ASSERT_TRUE(array);
  EXPECT_EQ(array->type, "Order[]");
  EXPECT_EQ(array->all_references, 3U);
  EXPECT_EQ(array->references.size(), 2U);
  EXPECT_THAT(array->referrers, ElementsAre(Field(&HeapNeighbour::type, "List")));
  EXPECT_EQ(array->dominator->type, "List");
  EXPECT_FALSE(report.object(0x10, 2));
  EXPECT_FALSE(report.object(~0ULL, 2));
}

TEST(HeapReport, SaysNothingOfWhatIsRetainedWithoutReferences) {
  TestHeap heap;
  heap.add("Order");
  heap.made();
  const HeapReport report{heap.heap};
  const auto answer = report.answer({});
  EXPECT_FALSE(answer.types[0].retained);
  EXPECT_FALSE(answer.heap.unreachable_objects);
  EXPECT_THAT(answer.dominators, IsEmpty());
  EXPECT_THAT(report.type("Order", {})->notes, ElementsAre(testing::HasSubstr("no references")));
}

TEST(HeapReport, OfAnEmptyHeapIsEmpty) {
  const HeapSnapshot empty;
  const auto answer = HeapReport{empty}.answer({});
  EXPECT_EQ(answer.heap.objects, 0U);
  EXPECT_THAT(answer.types, IsEmpty());
  EXPECT_FALSE(HeapReport{empty}.type("Order", {}));
  EXPECT_FALSE(HeapReport{empty}.object(0x1000, 10));
}

TEST(HeapReport, CountsGenerationsFragmentationAndPins) {
  TestHeap heap;
  const auto pinned = heap.add("System.Byte[]", 512);
  heap.root(pinned, RootKind::kPinnedHandle, "pinned");
  heap.made();
  heap.heap.segments = {{.start = 0x1000,
                         .end = 0x2000,
                         .committed = 0x4000,
                         .generation = HeapGeneration::kLarge,
                         .objects = 1,
                         .object_bytes = 512,
                         .free_bytes = 1536,
                         .largest_free = 1000},
                        {.start = 0x8000, .end = 0x9000, .generation = HeapGeneration::kGen0}};
  const HeapReport report{heap.heap};
  const auto answer = report.answer({});
  ASSERT_EQ(answer.generations.size(), 2U);
  EXPECT_EQ(answer.generations[1].generation, HeapGeneration::kLarge);
  EXPECT_DOUBLE_EQ(answer.generations[1].fragmentation, 75);
  EXPECT_EQ(answer.pinned_objects, 1U);
  EXPECT_EQ(answer.pinned_bytes, 512U);
  EXPECT_EQ(report.type("Byte[]", {})->generations[0].generation, HeapGeneration::kLarge);
}

TEST(HeapDiff, RanksWhatGrew) {
  const auto before = shop(10), after = shop(200);
  const HeapReport first{before.heap}, second{after.heap};
  const auto diff = diff_heaps(first, second, 100);
  EXPECT_EQ(diff.objects_change, 380);
  EXPECT_EQ(diff.bytes_change, 19'000);
  ASSERT_EQ(diff.types.size(), 4U);  // List and Order[] only retain more
  EXPECT_EQ(diff.types[0].type, "System.String");
  EXPECT_EQ(diff.types[0].count_change, 190);
  EXPECT_EQ(diff.types[1].type, "Order");
  EXPECT_EQ(diff.types[1].retained_change, 19'000);
  ASSERT_EQ(diff.roots.size(), 1U);
  EXPECT_EQ(diff.roots[0].name, "Shop.Cart.s_all");
  EXPECT_EQ(diff.roots[0].retained_change, 19'000);
  EXPECT_THAT(diff_heaps(first, first, 100).types, IsEmpty());
}

TEST(HeapDiff, KnowsTypesThatCameAndWent) {
  TestHeap one, two;
  one.root(one.add("Old"), RootKind::kStatic, "s");
  two.root(two.add("New"), RootKind::kStatic, "s");
  one.made();
  two.made();
  const auto diff = diff_heaps(HeapReport{one.heap}, HeapReport{two.heap}, 100);
  ASSERT_EQ(diff.types.size(), 2U);
  EXPECT_EQ(diff.types[0].type, "New");
  EXPECT_EQ(diff.types[0].count_before, 0U);
  EXPECT_EQ(diff.types[1].count_change, -1);
  EXPECT_EQ(diff.types[1].retained_change, -24);
}

}  // namespace
}  // namespace clrscope::analyze
