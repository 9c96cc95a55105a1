// The heap reader on heaps made by hand: whole, damaged and hostile ones.
#include "inspect/heap/heap.h"

#include <gtest/gtest.h>

#include <random>

#include "inspect/fake_target.h"
#include "inspect/heap/finalizers.h"
#include "inspect/heap/handles.h"
#include "inspect/heap/object_index.h"
#include "inspect/heap/object_walk.h"
#include "inspect/heap/references.h"
#include "inspect/heap/strings.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kTables = 0x100000, kHeap = 0x200000, kOther = 0x300000;
constexpr std::uint32_t kComponents = 0x80000000, kPointers = 0x01000000;

// A heap in the making: types, then objects one after the other.
class HeapTest : public testing::Test {
 protected:
  HeapTest() {
    target_.add_memory(kTables, 0x4000);
    target_.add_memory(kHeap, 0x4000);
    target_.add_memory(kOther, 0x20000);
    node_ = add_type(kPointers, 32, {{1, 8 - 32}, {8}});  // one reference, one number
    bytes_ = add_type(kComponents | 1, 24, {});
    objects_ = add_type(kComponents | kPointers | 8, 24, {{1, -24}, {16}});
    string_ = add_type(kComponents | 2, 22, {});
    free_ = 0x3f00 + kTables;
    target_.put(free_, std::uint32_t{kComponents | 1});
    target_.put(free_ + 4, std::uint32_t{24});
    // {number, reference} in a row: 8 bytes skipped after each reference.
    pairs_ = next_table_ + 0x80;
    next_table_ += 0x100;
    put_head(pairs_, kComponents | kPointers | 16, 24);
    target_.put(pairs_ - 8, std::int64_t{-1});
    target_.put(pairs_ - 16, std::uint64_t{24});
    target_.put(pairs_ - 24, ObjectLayout::Piece{1, 8});
  }

  struct Description {
    std::vector<std::int64_t> count_and_length;
    std::vector<std::uint64_t> offset;
  };
  std::uint64_t add_type(std::uint32_t flags, std::uint32_t base, const Description& of) {
    const auto table = next_table_ + 0x80;
    next_table_ += 0x100;
    put_head(table, flags, base);
    if (!of.offset.empty()) {
      target_.put(table - 8, of.count_and_length[0]);
      target_.put(table - 16, of.offset[0]);
      target_.put(table - 24, of.count_and_length[1]);
    }
    return table;
  }
  void put_head(std::uint64_t table, std::uint32_t flags, std::uint32_t base) {
    target_.put(table, flags);
    target_.put(table + 4, base);
    target_.put(table + 40, table + 0x40);  // its class
    target_.put(table + 0x40 + 16, table);  // which points back
  }

  std::uint64_t add(std::uint64_t table, std::uint32_t elements = 0) {
    const auto at = end_;
    target_.put(at, table);
    MethodTables tables{target_};
    const auto* const layout = tables.find(table);
    if (layout->component_size != 0) target_.put(at + 8, elements);
    end_ += layout->size_of(layout->component_size == 0 ? 0 : elements);
    return at;
  }
  std::uint64_t add_text(std::u16string_view text) {
    const auto at = add(string_, static_cast<std::uint32_t>(text.size()));
    for (std::size_t i = 0; i < text.size(); ++i) target_.put(at + 12 + i * 2, text[i]);
    return at;
  }
  std::uint64_t add_node(std::uint64_t next = 0) {
    const auto at = add(node_);
    target_.put(at + 8, next);
    return at;
  }

  void walk(std::span<const HeapRange> contexts = {}) {
    heap_ = {};
    MethodTables tables{target_};
    ObjectWalk walk{target_, tables, heap_};
    for (const auto& context : contexts) walk.skip(context);
    walk.walk({.start = kHeap, .end = end_});
    layouts_.assign(heap_.graph.types.size(), nullptr);
    for (auto* const layout : tables.all())
      if (layout->type != ObjectLayout::kNoType) layouts_[layout->type] = layout;
    const ObjectIndex index{heap_.segments, heap_.graph.addresses};
    References{target_, layouts_, index, heap_}.read(extra_);
    strings_ = count_equal_strings(target_, layouts_, heap_.graph);
    layouts_.clear();
  }
  std::uint64_t accounted() const {
    const auto& segment = heap_.segments.at(0);
    return segment.object_bytes + segment.free_bytes + heap_.unread_bytes;
  }

  FakeTarget target_;
  std::uint64_t next_table_ = kTables, end_ = kHeap;
  std::uint64_t node_ = 0, bytes_ = 0, objects_ = 0, string_ = 0, free_ = 0, pairs_ = 0;
  std::vector<ObjectLayout*> layouts_;
  std::vector<ExtraEdge> extra_;
  HeapSnapshot heap_;
  std::vector<EqualStrings> strings_;
};

TEST_F(HeapTest, FindsObjectsSizesAndReferences) {
  const auto first = add_node();
  const auto second = add_node(first);
  target_.put(first + 8, second);  // a circle
  add(free_, 40);
  const auto list = add(objects_, 3);
  target_.put(list + 16, first);
  target_.put(list + 32, second);
  const auto pairs = add(pairs_, 2);
  target_.put(pairs + 24, second);
  target_.put(pairs + 40, std::uint64_t{0x123456});  // leads nowhere
  walk();
  const auto& graph = heap_.graph;
  ASSERT_EQ(graph.objects(), 4U);
  EXPECT_EQ(graph.sizes, (std::vector<std::uint32_t>{32, 32, 48, 56}));
  EXPECT_EQ(graph.edges, (std::vector<std::uint32_t>{1, 0, 0, 1, 1}));
  EXPECT_EQ(graph.first_edge, (std::vector<std::uint32_t>{0, 1, 2, 4, 5}));
  EXPECT_EQ(heap_.unresolved_edges, 1U);
  EXPECT_EQ(heap_.unread_bytes, 0U);
  EXPECT_EQ(heap_.segments[0].free_bytes, 64U);
  EXPECT_EQ(heap_.segments[0].largest_free, 64U);
  EXPECT_EQ(accounted(), end_ - kHeap);
}

TEST_F(HeapTest, AddsWhatOnlyHandlesConnect) {
  const auto first = add_node();
  add_node(first);
  extra_ = {{0, 1}};
  walk();
  EXPECT_EQ(heap_.graph.edges, (std::vector<std::uint32_t>{1, 0}));
}

TEST_F(HeapTest, SkipsWhereObjectsWillBe) {
  add_node();
  const auto empty = end_;
  for (std::uint64_t at = 0; at < 104; at += 8) target_.put(empty + at, ~std::uint64_t{0});
  end_ += 80 + ObjectLayout::kLeastObject;  // 80 bytes, and what is kept for a hole
  add_node();
  walk(std::vector<HeapRange>{{empty, empty + 80}});
  EXPECT_EQ(heap_.graph.objects(), 2U);
  EXPECT_EQ(heap_.unread_bytes, 0U);
}

TEST_F(HeapTest, FindsTheWayOverZeros) {
  add_node();
  end_ += 72;
  for (int i = 0; i < 20; ++i) {
    if (i == 0) target_.put(end_ - 4, std::uint32_t{0x08000001});  // the header of the first
    add_node();
  }
  walk();
  EXPECT_EQ(heap_.graph.objects(), 21U);
  EXPECT_EQ(heap_.unread_bytes, 0U);
}

TEST_F(HeapTest, CountsWhatItCannotRead) {
  add_node();
  const auto damaged = add_node();
  for (int i = 0; i < 20; ++i) add_node();
  target_.put(damaged, std::uint64_t{0xdeadbeef00});
  walk();
  EXPECT_EQ(heap_.graph.objects(), 21U);
  EXPECT_EQ(heap_.unread_bytes, 32U);
  EXPECT_EQ(accounted(), end_ - kHeap);
}

TEST_F(HeapTest, DoesNotBelieveALoneObject) {
  add_node();
  target_.put(end_, std::uint64_t{0xdeadbeef00});
  target_.put(end_ + 8, node_);  // what follows it is no object
  target_.put(end_ + 40, std::uint64_t{0x77});
  end_ += 400;
  walk();
  EXPECT_EQ(heap_.graph.objects(), 1U);
  EXPECT_EQ(heap_.unread_bytes, 400U);
}

TEST_F(HeapTest, RefusesObjectsThatRunPastTheirSegment) {
  add_node();
  const auto last = add(bytes_, 8);
  target_.put(last + 8, std::uint32_t{0x7fffffff});
  walk();
  EXPECT_EQ(heap_.graph.objects(), 1U);
  EXPECT_EQ(heap_.unread_bytes, 32U);
}

TEST_F(HeapTest, HoldsArraysOfManyGigabytes) {
  const auto at = add(objects_, 1);
  target_.put(at + 8, std::uint32_t{0x40000000});
  end_ = at + 24 + 0x40000000ULL * 8;
  walk();
  ASSERT_EQ(heap_.graph.objects(), 1U);
  EXPECT_EQ(heap_.graph.sizes[0], HeapGraph::kHuge);
  EXPECT_EQ(heap_.graph.size_of(0), 24 + 0x40000000ULL * 8);
  EXPECT_GT(heap_.unresolved_edges, 0U);  // most of it is not there
}

TEST_F(HeapTest, SkipsMemoryThatIsNotThere) {
  add_node();
  end_ = kHeap + (1ULL << 40);
  walk();
  EXPECT_EQ(heap_.graph.objects(), 1U);
  EXPECT_EQ(accounted(), end_ - kHeap);
}

TEST_F(HeapTest, TakesNoTypeWhoseClassDoesNotPointBack) {
  const auto one = add_node();
  target_.put(node_ + 0x40 + 16, std::uint64_t{0x1234});
  MethodTables tables{target_};
  EXPECT_EQ(tables.find(node_), nullptr);
  EXPECT_EQ(tables.find(one), nullptr);
  EXPECT_EQ(tables.find(3), nullptr);
  EXPECT_EQ(tables.find(0x7777777777777770), nullptr);
}

TEST_F(HeapTest, TakesNoTypeWhoseElementsHaveNoLength) {
  target_.put(pairs_ - 24, ObjectLayout::Piece{0, 0});
  EXPECT_EQ(MethodTables{target_}.find(pairs_), nullptr);
}

TEST_F(HeapTest, CountsEqualStrings) {
  for (int i = 0; i < 3; ++i) add_text(u"same");
  add_text(u"other");
  add_text(u"");
  add_text(u"");
  add_node();
  walk();
  ASSERT_EQ(strings_.size(), 2U);
  EXPECT_EQ(strings_[0].value, "same");
  EXPECT_EQ(strings_[0].count, 3U);
  EXPECT_EQ(strings_[0].length, 4U);
  EXPECT_EQ(strings_[0].bytes, 3 * 32U);
  EXPECT_EQ(strings_[1].value, "");
}

// Whatever a byte becomes: no crash, no end outside, every byte counted at most once.
TEST_F(HeapTest, SurvivesAnyDamage) {
  std::uint64_t last = 0;
  for (int i = 0; i < 30; ++i) {
    last = add_node(last);
    const auto list = add(objects_, 5);
    target_.put(list + 16, last);
    const auto pairs = add(pairs_, 3);
    target_.put(pairs + 24, list);
    add_text(u"damaged");
    add(free_, 8);
  }
  const auto whole = target_.bytes;
  std::mt19937 random{19};
  for (int round = 0; round < 200; ++round) {
    target_.bytes = whole;
    for (auto flips = random() % 4 + 1; flips > 0; --flips) {
      const bool in_table = random() % 3 == 0;
      const auto at = in_table ? kTables + random() % (next_table_ - kTables)
                               : kHeap + random() % (end_ - kHeap);
      target_.put(at, static_cast<std::uint8_t>(random()));
    }
    walk();
    const auto& graph = heap_.graph;
    ASSERT_LE(accounted(), end_ - kHeap);
    ASSERT_EQ(graph.first_edge.size(), graph.objects() + 1U);
    for (const auto edge : graph.edges) ASSERT_LT(edge, graph.objects());
    for (std::uint32_t i = 0; i + 1 < graph.objects(); ++i)
      ASSERT_LE(graph.addresses[i] + graph.size_of(i), graph.addresses[i + 1]);
  }
}

TEST_F(HeapTest, GivesNumbersToObjectsOnly) {
  const auto first = add_node();
  const auto second = add(bytes_, 1000);
  const auto third = add_node();
  walk();
  const ObjectIndex index{heap_.segments, heap_.graph.addresses};
  EXPECT_EQ(index.number_of(first), 0U);
  EXPECT_EQ(index.number_of(second), 1U);
  EXPECT_EQ(index.number_of(third), 2U);
  for (const auto no :
       {first - 8, first + 8, first + 1, third + 8, std::uint64_t{0}, ~std::uint64_t{0}})
    EXPECT_EQ(index.number_of(no), ObjectIndex::kNone) << std::hex << no;
}

// A table with a segment of blocks: where its parts lie differs between .NET 9 and 10.
class HandleTest : public testing::TestWithParam<int> {
 protected:
  HandleTest() {
    target_.add_memory(kMap, 0x1000);
    target_.add_memory(kSegment, 0x10000);
    const bool ten = GetParam() == 10;
    target_.put(kMap, kMap + 0x100);          // buckets
    target_.put(kMap + 0x100, kMap + 0x200);  // the first of them: its tables
    target_.put(kMap + 0x200, kMap + 0x300);
    target_.put(kMap + 0x300, kTable);
    target_.put(kTable + (ten ? 56 : 48), kSegment);
    const std::uint64_t sorts = ten ? 13 : 12;
    target_.put(kSegment + 1920 + sorts * 6 + 8, kTable);
    for (std::uint64_t block = 0; block < 120; ++block) {
      target_.put(kSegment + 600 + block * 8, ~std::uint64_t{0});  // all free
      target_.put(kSegment + 1560 + block, std::uint8_t{0xff});
      target_.put(kSegment + 1680 + block, std::uint8_t{0xff});
    }
    second_ = static_cast<std::uint8_t>(sorts - 1);
  }
  void put_block(std::uint64_t block, std::uint8_t kind) {
    target_.put(kSegment + 1560 + block, kind);
  }
  void put_handle(std::uint64_t block, std::uint64_t number, std::uint64_t object) {
    target_.put(kSegment + 0x1000 + (block * 64 + number) * 8, object);
    const auto at = kSegment + 600 + block * 8;
    std::uint64_t free = 0;
    target_.read(at, {reinterpret_cast<std::uint8_t*>(&free), 8});
    target_.put(at, free & ~(std::uint64_t{1} << number));
  }

  static constexpr std::uint64_t kMap = 0x10000, kTable = kMap + 0x400, kSegment = 0x20000;
  FakeTarget target_;
  std::uint8_t second_ = 0;  // the sort of blocks with second values
};

TEST_P(HandleTest, FindsHandlesInUse) {
  put_block(0, 2);
  put_handle(0, 0, 0x1111);
  put_handle(0, 63, 0x2222);
  put_handle(0, 5, 0);  // null
  put_block(1, 6);
  target_.put(kSegment + 1680 + 1, std::uint8_t{2});
  put_handle(1, 7, 0x3333);
  put_block(2, second_);
  put_handle(2, 7, 0x4444);
  const auto handles = read_handles(target_, {.handle_tables = kMap});
  ASSERT_TRUE(handles);
  ASSERT_EQ(handles->size(), 3U);
  EXPECT_EQ(handles->at(0).kind, HandleKind::kStrong);
  EXPECT_EQ(handles->at(1).object, 0x2222U);
  EXPECT_EQ(handles->at(2).kind, HandleKind::kDependent);
  EXPECT_EQ(handles->at(2).object, 0x3333U);
  EXPECT_EQ(handles->at(2).extra, 0x4444U);
}

TEST_P(HandleTest, SaysWhenNothingPointsBack) {
  target_.put(kSegment + 1920 + (second_ + 1) * 6 + 8, std::uint64_t{0});
  const auto handles = read_handles(target_, {.handle_tables = kMap});
  ASSERT_FALSE(handles);
  EXPECT_EQ(handles.error().code, Errc::kUnsupported);
}

TEST_P(HandleTest, FollowsNoCircle) {
  put_block(0, 3);
  put_handle(0, 1, 0x1111);
  target_.put(kSegment + 1920 + (second_ + 1) * 6, kSegment);  // its next is itself
  const auto handles = read_handles(target_, {.handle_tables = kMap});
  ASSERT_TRUE(handles);
  EXPECT_EQ(handles->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Versions, HandleTest, testing::Values(9, 10));

TEST(FinalizerQueue, CountsRegisteredAndDue) {
  FakeTarget target;
  target.add_memory(0x1000, 0x1000);
  const std::uint64_t array = 0x1800;
  const std::uint64_t ends[] = {0, 8, 8, 16, 40, 48, 64};
  for (int i = 0; i < 7; ++i) target.put(0x1000 + i * 8, array + ends[i]);
  target.put(0x1038, array);
  target.put(0x1040, array + 0x100);
  for (std::uint64_t i = 0; i < 8; ++i) target.put(array + i * 8, 0x5000 + i);
  const auto queue = read_finalizers(target, {.finalizers = {0x1000}});
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->registered, 5U);
  EXPECT_EQ(queue->due, (std::vector<std::uint64_t>{0x5005, 0x5006, 0x5007}));
  target.put(0x1008, array + 0x200);  // beyond those that follow
  EXPECT_FALSE(read_finalizers(target, {.finalizers = {0x1000}}));
  EXPECT_FALSE(read_finalizers(target, {}));
}

TEST(ReadHeap, NeedsACollectorItKnows) {
  FakeTarget target;
  FakeRuntime runtime;
  const auto heap = read_heap(target, runtime, {});
  ASSERT_FALSE(heap);
  EXPECT_EQ(heap.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace clrscope::inspect
