#include "inspect/take_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/fake_target.h"

namespace clrscope::inspect {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(TakeSnapshot, SaysHowManyLocksCouldNotBeRead) {
  FakeTarget core;
  FakeRuntime runtime;
  runtime.monitors = {.known = {{.object = 1, .held = true}}, .unread = 2};
  const auto seen = take_snapshot(core, &runtime, {});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->locks.size(), 1U);
  EXPECT_EQ(seen->locks_unread, 2U);
  EXPECT_THAT(seen->notes, ElementsAre(HasSubstr("2 of 3 entries")));
}

TEST(TakeSnapshot, SaysThatACoreHasOnlyAPartOfTheLocks) {
  FakeTarget core;
  FakeRuntime runtime;
  runtime.monitors = {.cut = true};
  const auto seen = take_snapshot(core, &runtime, {});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_THAT(seen->notes, ElementsAre(HasSubstr("only a part of the runtime's lock table")));
}

TEST(TakeSnapshot, SaysNothingOfLocksThatAreAllKnown) {
  FakeTarget core;
  FakeRuntime runtime;
  runtime.monitors = {.known = {{.object = 1, .held = true}}};
  const auto seen = take_snapshot(core, &runtime, {});
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(seen->locks_unread, 0U);
  EXPECT_TRUE(seen->notes.empty());
}

}  // namespace
}  // namespace clrscope::inspect
