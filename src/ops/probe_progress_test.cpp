#include "ops/probe_progress.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "collect/agent/fake_agent.h"

namespace clrscope::ops {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using wire::ProbeProgress;

class ProbeProgressTest : public testing::Test {
 protected:
  collect::FakeAgent agent_;
  collect::AgentConnection connection_ = agent_.connect();
  const collect::AgentProbes probes_ = agent_.probes();
  const UniqueFd asked_{::eventfd(1, EFD_CLOEXEC)};
  const int asked_fds_[1] = {asked_.get()};
  const StopCondition stopped_{.fds = asked_fds_};
};

TEST_F(ProbeProgressTest, ChangesUntilAllMethodsAreChanged) {
  agent_.answer(1);
  agent_.set_progress(ProbeProgress::kApplied);
  const auto changed = change_methods(probes_, connection_, hours{1}, {});
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed, WaitEnd::kReached);
}

TEST_F(ProbeProgressTest, EndsAChangeThatIsUnderWayWhenItIsAskedTo) {
  agent_.answer(1);
  agent_.set_progress(ProbeProgress::kWorking);
  const auto changed = change_methods(probes_, connection_, hours{1}, stopped_);
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed, WaitEnd::kStopped);
}

TEST_F(ProbeProgressTest, EndsAChangeThatIsUnderWayWhenTheTimeIsOver) {
  agent_.answer(1);
  agent_.set_progress(ProbeProgress::kWorking);
  const auto changed =
      change_methods(probes_, connection_, hours{1}, {.deadline = Deadline{milliseconds{1}}});
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed, WaitEnd::kStopped);
}

TEST_F(ProbeProgressTest, WaitsOnlyShortlyForMethodsToBeTakenBackWhenItIsAskedToStop) {
  agent_.set_progress(ProbeProgress::kWorking);
  // The process stands still, then the agent is at work.
  for (const bool answers : {false, true}) {
    if (answers)
      for (std::uint32_t id = 1; id <= 2; ++id) agent_.answer(id);
    const auto back = take_back_methods(probes_, connection_, stopped_, milliseconds{20});
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().code, Errc::kTimeout);
    EXPECT_FALSE(back.error().hint.empty());
  }
  for (std::uint32_t id = 1; id <= 4; ++id) agent_.answer(id);
  agent_.set_progress(ProbeProgress::kIdle);
  EXPECT_TRUE(take_back_methods(probes_, connection_, stopped_, hours{1}));
}

TEST_F(ProbeProgressTest, TakesALateReplyForNoEnd) {
  const StopCondition none{};
  agent_.answer(1);
  EXPECT_FALSE(none.wait(connection_.fd(), milliseconds{1}));
  agent_.leave();
  EXPECT_TRUE(none.wait(connection_.fd(), hours{1}));
}

TEST_F(ProbeProgressTest, SaysThatTheProcessHasEnded) {
  agent_.answer(1);
  agent_.set_progress(ProbeProgress::kWorking);
  agent_.leave();
  const auto changed = change_methods(probes_, connection_, hours{1}, {});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, Errc::kGone);
}

}  // namespace
}  // namespace clrscope::ops
