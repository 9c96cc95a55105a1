#include "archive/operations.h"

#include <gtest/gtest.h>

namespace clrscope::archive {
namespace {

TEST(Operations, RunUntilTheirHandleSaysSoAndAreRemembered) {
  Operations all;
  bool stopped = false;
  auto one = all.begin({.kind = "trace",
                        .process = {.pid = 7, .name = "shop", .user = {}},
                        .tags = "a, b",
                        .stop = [&] { stopped = true; }});
  EXPECT_EQ(one->id().size(), 36U);
  EXPECT_EQ(all.list({}, "").size(), 1U);
  EXPECT_EQ(all.list({.pid = 7}, "b,a").size(), 1U);
  EXPECT_EQ(all.list({.pid = 8}, "").size(), 0U);
  EXPECT_EQ(all.list({}, "a,c").size(), 0U);
  EXPECT_TRUE(all.stop(one->id()));
  EXPECT_TRUE(stopped);
  EXPECT_EQ(all.find(one->id())->status, OperationStatus::kStopping);
  EXPECT_FALSE(all.cancel(one->id()));  // it cannot be
  one->succeed("/recordings/x");
  EXPECT_EQ(all.find(one->id())->status, OperationStatus::kSucceeded);
  EXPECT_FALSE(all.stop(one->id()));
  EXPECT_FALSE(all.stop("nothing"));
  const auto id = one->id();
  one.reset();
  EXPECT_EQ(all.find(id)->status, OperationStatus::kSucceeded);
  EXPECT_EQ(all.find(id)->resource, "/recordings/x");
}

TEST(Operations, OneThatIsCancelledStaysSoAndOneThatIsLostFailed) {
  Operations all;
  bool cancelled = false;
  auto one = all.begin({.kind = "trace", .cancel = [&] { cancelled = true; }});
  const auto id = one->id();
  EXPECT_TRUE(all.cancel(id));
  EXPECT_TRUE(cancelled);
  one->succeed();
  EXPECT_EQ(all.find(id)->status, OperationStatus::kCancelled);
  const auto lost = all.begin({.kind = "dump"})->id();
  EXPECT_EQ(all.find(lost)->status, OperationStatus::kFailed);
}

TEST(Operations, OnlyTheLastThatEndedAreRemembered) {
  Operations all;
  const auto running = all.begin({.kind = "trace"});
  for (int i = 0; i < 300; ++i) all.begin({.kind = "dump"})->succeed();
  EXPECT_LE(all.list({}, "").size(), 102U);
  EXPECT_TRUE(all.find(running->id()));
}

}  // namespace
}  // namespace clrscope::archive
