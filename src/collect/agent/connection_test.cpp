#include "collect/agent/connection.h"

#include <gtest/gtest.h>

#include "collect/agent/fake_agent.h"

namespace clrscope::collect {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// A process that stood still answers both when it goes on.
TEST(AgentConnection, SkipsTheReplyToARequestThatItGaveUp) {
  FakeAgent agent;
  auto connection = agent.connect();
  const auto given_up =
      connection.demand(wire::RequestKind::kProbesRevert, 0, Deadline{nanoseconds{0}});
  ASSERT_FALSE(given_up);
  EXPECT_EQ(given_up.error().code, Errc::kTimeout);
  agent.answer(1, wire::Outcome::kTimeout);
  agent.answer(2);
  EXPECT_TRUE(connection.demand(wire::RequestKind::kProbesRevert, 0, Deadline{seconds{60}}));
  agent.answer(3);
  EXPECT_TRUE(connection.demand(wire::RequestKind::kHello, 0, Deadline{seconds{60}}));
}

TEST(AgentConnection, RefusesAReplyToARequestThatItHasNotSent) {
  FakeAgent agent;
  auto connection = agent.connect();
  agent.answer(7);
  const auto refused = connection.demand(wire::RequestKind::kHello, 0, Deadline{seconds{60}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kCorrupt);
}

TEST(AgentConnection, EndsWhenTheAgentClosesItOnly) {
  FakeAgent agent;
  const auto connection = agent.connect();
  EXPECT_FALSE(connection.has_ended());
  agent.answer(1);  // nobody waits for it any more
  EXPECT_FALSE(connection.has_ended());
  agent.leave();
  EXPECT_TRUE(connection.has_ended());
}

}  // namespace
}  // namespace clrscope::collect
