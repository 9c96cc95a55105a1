#include <gmock/gmock.h>

#include "doctor/test_evidence.h"

namespace clrscope::doctor {
namespace {

using inspect::AsyncSnapshot;
using inspect::AsyncWait;
using inspect::AwaitKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// So many stacks of one method that wait alike, unchanged.
AsyncSnapshot waiting_for(AsyncWait wait, std::size_t count,
                          const std::string& method = "Shop.Cart.Load") {
  AsyncSnapshot seen{.over = 10s, .names = {method, "Shop.Orders.Place"}};
  for (std::size_t i = 0; i < count; ++i) {
    seen.waits.push_back(wait);
    seen.stacks.push_back({.wait = static_cast<std::uint32_t>(i),
                           .steps = {{.name = 0, .state = 0, .object = 0x1000 + 64 * i},
                                     {.name = 1, .state = 1, .object = 0x9000 + 64 * i}},
                           .unchanged = true});
  }
  return seen;
}
Evidence with_async(const AsyncSnapshot& seen) {
  auto first = seen;
  first.over.reset();
  Evidence evidence{.watched = 10s};
  evidence.process = {.pid = 100, .name = "Shop"};
  evidence.async = {first, seen};
  return evidence;
}

TEST(StuckTask, IsAReplyThatManyWaitFor) {
  const auto found =
      examined("CS1205", with_async(waiting_for({.kind = AwaitKind::kCompletionSource}, 5)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].title, "Stuck tasks: 5 tasks wait in Shop.Cart.Load");
  EXPECT_THAT(found[0].details[0], HasSubstr("Shop.Cart.Load → Shop.Orders.Place"));
}

TEST(StuckTask, IsASemaphoreWithALimitThatNobodyReleases) {
  AsyncWait wait{.kind = AwaitKind::kSemaphore, .object = 0x70, .free = 0, .most = 1};
  EXPECT_THAT(examined("CS1205", with_async(waiting_for(wait, 5))), SizeIs(1));
  wait.most = 0x7fffffff;  // may be a signal
  EXPECT_THAT(examined("CS1205", with_async(waiting_for(wait, 5))), IsEmpty());
}

TEST(StuckTask, IsNoneOfWhatMayWaitForLong) {
  for (const auto kind : {AwaitKind::kDelay, AwaitKind::kChannel, AwaitKind::kSocket,
                          AwaitKind::kPipe, AwaitKind::kValueTaskSource, AwaitKind::kRunning})
    EXPECT_THAT(examined("CS1205", with_async(waiting_for({.kind = kind}, 50))), IsEmpty());
  const AsyncWait reply{.kind = AwaitKind::kCompletionSource};
  EXPECT_THAT(examined("CS1205", with_async(waiting_for(reply, 2))), IsEmpty());
  EXPECT_THAT(examined("CS1205",
                       with_async(waiting_for(reply, 5, "Microsoft.Extensions.Hosting.Host.Wait"))),
              IsEmpty());
}

TEST(StuckTask, IsNoneThatMoves) {
  auto seen = waiting_for({.kind = AwaitKind::kCompletionSource}, 5);
  for (auto& stack : seen.stacks) stack.unchanged = false;
  EXPECT_THAT(examined("CS1205", with_async(seen)), IsEmpty());
}

AsyncSnapshot cycle(bool by_semaphores) {
  AsyncSnapshot seen;
  seen.cycles = {{.links = {{.method = "Shop.Cart.Load", .awaits = 0x20, .awaits_text = "b"},
                            {.method = "Shop.Cart.Price", .awaits = 0x10, .awaits_text = "a"}},
                  .by_semaphores = by_semaphores}};
  return seen;
}

TEST(AsyncDeadlock, IsCertainByTasksAndLikelyBySemaphores) {
  const auto by_tasks = examined("CS1206", with_async(cycle(false)));
  ASSERT_THAT(by_tasks, SizeIs(1));
  EXPECT_EQ(by_tasks[0].severity, Severity::kError);
  EXPECT_EQ(by_tasks[0].confidence, Confidence::kCertain);
  EXPECT_EQ(examined("CS1206", with_async(cycle(true)))[0].confidence, Confidence::kLikely);
}

TEST(AsyncDeadlock, MustHaveBeenThereAtTheBeginning) {
  auto evidence = with_async(cycle(true));
  evidence.async.front().cycles.clear();
  EXPECT_THAT(examined("CS1206", evidence), IsEmpty());
  evidence.async.erase(evidence.async.begin());  // as of a core
  EXPECT_THAT(examined("CS1206", evidence), SizeIs(1));
}

TEST(AsyncFindings, SayWhyTheyCouldNotRun) {
  Evidence evidence{.watched = 10s};
  evidence.no_async = "too little memory for a copy";
  const auto all = diagnose(evidence, *select({"CS1206"}, {}));
  EXPECT_EQ(all.examined[0].outcome, Outcome::kNotRun);
  EXPECT_EQ(all.examined[0].reason, "too little memory for a copy");
}

}  // namespace
}  // namespace clrscope::doctor
