#include <gmock/gmock.h>

#include "doctor/test_evidence.h"

namespace clrscope::doctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

analyze::GrowingType growing_orders() {
  return {.type = "Shop.Order",
          .module = "Shop",
          .counts = {1000, 6000, 11'000},
          .retained_before = 100'000,
          .retained_after = 1'100'000,
          .objects_per_second = 1000,
          .bytes_per_second = 100'000,
          .path = {{.root = RootKind::kStatic, .name = "Shop.Cart.s_all"},
                   {.name = "System.Collections.Generic.List`1[Shop.Order]"},
                   {.name = "Shop.Order[]"},
                   {.name = "Shop.Order"}},
          .path_objects = 10'990,
          .holder = analyze::Holder::kCollection};
}

Evidence with_heap(HeapFacts heap) {
  Evidence evidence;
  evidence.process = {.pid = 100, .name = "Shop", .up = 1h};
  evidence.watched = 10s;
  evidence.heap = std::move(heap);
  return evidence;
}

TEST(GrowingHeap, NamesTheTypeTheRateAndThePath) {
  const auto found = examined("CS1620", with_heap({.looks = 3, .growing = {growing_orders()}}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  EXPECT_THAT(found[0].title, HasSubstr("1000 Shop.Order per second"));
  EXPECT_THAT(found[0].title, HasSubstr("by a collection"));
  EXPECT_THAT(found[0].summary, HasSubstr("1,000, 6,000, 11,000"));
  EXPECT_THAT(found[0].details, Contains(HasSubstr("static field Shop.Cart.s_all")));
  EXPECT_THAT(found[0].advice, HasSubstr("collection"));
}

TEST(GrowingHeap, IsLessSureOfAProcessThatJustStarted) {
  auto evidence = with_heap({.looks = 3, .growing = {growing_orders()}});
  evidence.process.up = 20s;
  const auto found = examined("CS1620", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
  EXPECT_THAT(found[0].summary, HasSubstr("may be a cache"));
}

TEST(GrowingHeap, IsSilentBelowItsThresholdsAndWithoutGrowth) {
  EXPECT_THAT(examined("CS1620", with_heap({.looks = 3})), IsEmpty());
  const auto evidence = with_heap({.looks = 3, .growing = {growing_orders()}});
  EXPECT_THAT(examined("CS1620", evidence, {"CS1620.objectsPerSecond=1001"}), IsEmpty());
  EXPECT_THAT(examined("CS1620", evidence, {"CS1620.bytesPerSecond=100001"}), IsEmpty());
}

TEST(GrowingHeap, IsNotExaminedWithoutAHeap) {
  auto evidence = with_heap({});
  evidence.heap.reset();
  evidence.no_heap = "a look at the heap may pause the process for 300 ms";
  const auto selected = select({"CS1620"}, {});
  ASSERT_TRUE(selected);
  const auto diagnosis = diagnose(evidence, *selected);
  ASSERT_THAT(diagnosis.examined, SizeIs(1));
  EXPECT_EQ(diagnosis.examined[0].outcome, Outcome::kNotRun);
  EXPECT_THAT(diagnosis.examined[0].reason, HasSubstr("300 ms"));
}

TEST(EqualStrings, AreReportedWhenTheyTakeALargeShare) {
  HeapFacts heap{.looks = 2, .bytes = 100'000'000, .wasted_by_strings = 40'000'000};
  heap.strings = {{.value = "Deutschland", .length = 11, .count = 500'000, .bytes = 22'000'000}};
  const auto found = examined("CS1621", with_heap(heap));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_THAT(found[0].title, HasSubstr("40 % of the heap"));
  EXPECT_THAT(found[0].details, Contains(HasSubstr("500,000 x \"Deutschland\"")));
  heap.wasted_by_strings = 9'000'000;
  EXPECT_THAT(examined("CS1621", with_heap(heap)), IsEmpty());
  heap = {.looks = 2, .bytes = 1'000'000'000, .wasted_by_strings = 40'000'000};
  EXPECT_THAT(examined("CS1621", with_heap(heap)), IsEmpty());
}

Evidence with_finalizers(std::vector<std::uint64_t> due, bool blocked = false) {
  auto finalizer = make_thread(103, "", "Shop.Connection.Finalize()", blocked ? 5ms : 800ms);
  finalizer.os.name = ".NET Finalizer";
  inspect::Snapshot snapshot;
  snapshot.threads = {blocked ? waiting(finalizer, inspect::WaitKind::kEvent) : finalizer};
  auto evidence = same_snapshot(snapshot, 4);
  evidence.heap = HeapFacts{.looks = due.size()};
  for (std::size_t i = 0; i < due.size(); ++i)
    evidence.heap->finalizers.push_back(
        {.at = i * 5s, .due = due[i], .types = {{"Shop.Connection", due[i]}}});
  return evidence;
}

TEST(FinalizerBacklog, GrowsFromLookToLook) {
  const auto found = examined("CS1609", with_finalizers({100, 2000, 4100}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("4,100 objects wait for their finalizers, 400 more"));
  EXPECT_THAT(found[0].details, Contains("4,100 × Shop.Connection"));
  EXPECT_THAT(found[0].advice, HasSubstr("dispose Shop.Connection"));
}

TEST(FinalizerBacklog, IsNotAQueueThatIsWorkedOff) {
  EXPECT_THAT(examined("CS1609", with_finalizers({100, 4000, 600})), IsEmpty());
  EXPECT_THAT(examined("CS1609", with_finalizers({4000, 4000, 4050})), IsEmpty());
  EXPECT_THAT(examined("CS1609", with_finalizers({0, 100, 300})), IsEmpty());
  // That is CS1603.
  EXPECT_THAT(examined("CS1609", with_finalizers({100, 2000, 4100}, true)), IsEmpty());
}

}  // namespace
}  // namespace clrscope::doctor
