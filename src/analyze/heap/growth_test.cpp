#include "analyze/heap/growth.h"

#include <gmock/gmock.h>

#include "analyze/heap/test_heap.h"

namespace clrscope::analyze {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A static holder of orders, each with a text; and garbage that nobody holds.
TestHeap shop(int orders, int garbage, const std::vector<std::string>& between) {
  TestHeap heap;
  auto above = heap.add(between.front(), 32);
  heap.root(above, RootKind::kStatic, "Shop.Cart.s_all");
  for (std::size_t i = 1; i < between.size(); ++i) {
    const auto next = heap.add(between[i], 64);
    heap.refer(above, next);
    above = next;
  }
  for (int i = 0; i < orders; ++i) {
    const auto order = heap.add("Shop.Order", 40);
    const auto text = heap.add("System.String", 60);
    heap.refer(above, order);
    heap.refer(order, text);
  }
  for (int i = 0; i < garbage; ++i) heap.add("Shop.Order", 40);
  return heap;
}

struct Looks {
  std::vector<TestHeap> heaps{};
  std::vector<HeapLook> looks{};

  void add(TestHeap heap) {
    heaps.push_back(std::move(heap));
    const HeapReport report{heaps.back().made()};
    looks.push_back(look_at(report, 5s * looks.size()));
  }
  std::vector<GrowingType> growth(const GrowthLimits& limits = {}) {
    const HeapReport last{heaps.back().made()};
    return find_growth(looks, last, limits);
  }
};

const std::vector<std::string> kList{"System.Collections.Generic.List`1[Shop.Order]",
                                     "Shop.Order[]"};

TEST(HeapGrowth, NamesTheTypeThatGrowsAndWhatHoldsIt) {
  Looks looks;
  for (const int orders : {100, 600, 1100}) looks.add(shop(orders, 0, kList));
  const auto found = looks.growth();
  ASSERT_THAT(found, SizeIs(1));  // the texts are the orders' part
  EXPECT_EQ(found[0].type, "Shop.Order");
  EXPECT_THAT(found[0].counts, ElementsAre(100, 600, 1100));
  EXPECT_EQ(found[0].retained_after - found[0].retained_before, 1000 * 100);
  EXPECT_DOUBLE_EQ(found[0].objects_per_second, 100);
  EXPECT_EQ(found[0].path.front().name, "Shop.Cart.s_all");
  EXPECT_EQ(found[0].path_objects, 1100);
  EXPECT_EQ(found[0].holder, Holder::kCollection);
}

TEST(HeapGrowth, PrefersTheApplicationsTypeToTheTimersThatHoldIt) {
  Looks looks;
  for (const int sessions : {100, 600, 1100}) {
    TestHeap heap;
    const auto queue = heap.add("System.Threading.TimerQueue", 64);
    heap.root(queue, RootKind::kStatic, "System.Threading.TimerQueue.Instances");
    auto above = queue;
    for (int i = 0; i < sessions; ++i) {
      const auto timer = heap.add("System.Threading.TimerQueueTimer", 96);
      const auto session = heap.add("Shop.Session", 32);
      const auto state = heap.add("System.Byte[]", 500);
      heap.refer(above, timer);
      heap.refer(timer, session);
      heap.refer(session, state);
      above = timer;
    }
    looks.add(std::move(heap));
  }
  const auto found = looks.growth();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].type, "Shop.Session");
  EXPECT_EQ(found[0].holder, Holder::kTimer);
}

TEST(HeapGrowth, DoesNotCountGarbage) {
  Looks looks;
  for (const int garbage : {0, 1000, 2000}) looks.add(shop(100, garbage, kList));
  EXPECT_THAT(looks.growth(), IsEmpty());
  EXPECT_EQ(looks.looks.back().types.at("Shop.Order").count, 100);
  EXPECT_EQ(looks.looks.back().types.at("Shop.Order").retained, 100 * 100);
}

TEST(HeapGrowth, IsSilentAboutAJumpAndAboutAHeapThatShrinksAgain) {
  Looks jump;
  for (const int orders : {100, 101, 2000}) jump.add(shop(orders, 0, kList));
  EXPECT_THAT(jump.growth(), IsEmpty());
  Looks wave;
  for (const int orders : {100, 2000, 1000}) wave.add(shop(orders, 0, kList));
  EXPECT_THAT(wave.growth(), IsEmpty());
  Looks stable;
  for (int i = 0; i < 3; ++i) stable.add(shop(2000, 0, kList));
  EXPECT_THAT(stable.growth(), IsEmpty());
}

TEST(HeapGrowth, NeedsThreeLooksAndTheRatesAskedFor) {
  Looks one;
  one.add(shop(1000, 0, kList));
  EXPECT_THAT(one.growth(), IsEmpty());
  one.add(shop(6000, 0, kList));
  EXPECT_THAT(one.growth(), IsEmpty());
  Looks slow;
  for (const int orders : {100, 150, 200}) slow.add(shop(orders, 0, kList));
  EXPECT_THAT(slow.growth({.objects_per_second = 11}), IsEmpty());
  EXPECT_THAT(slow.growth({.objects_per_second = 9, .bytes_per_second = 900}), SizeIs(1));
}

TEST(HeapGrowth, TellsTimersHandlersAndWeakTablesApart) {
  const auto holder = [](std::vector<std::string> between) {
    Looks looks;
    for (const int orders : {100, 600, 1100}) looks.add(shop(orders, 0, between));
    return looks.growth().at(0).holder;
  };
  EXPECT_EQ(holder({"System.EventHandler", "System.Object[]", "System.EventHandler`1[Shop.Args]"}),
            Holder::kEventHandler);
  EXPECT_EQ(holder({"System.Threading.TimerQueue", "System.Threading.TimerQueueTimer",
                    "System.Threading.TimerCallback"}),
            Holder::kTimer);
  EXPECT_EQ(holder({"System.Runtime.CompilerServices.ConditionalWeakTable`2+Container[A,B]"}),
            Holder::kWeakTable);
  EXPECT_EQ(holder({"Shop.Node"}), Holder::kOther);
}

}  // namespace
}  // namespace clrscope::analyze
