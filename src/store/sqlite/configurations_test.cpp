#include <gmock/gmock.h>

#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

using AgentsTest = SqliteStoreTest;

TEST_F(AgentsTest, ExpireWhenTheirRequestsAndADayArePast) {
  auto& store = open({.age = std::chrono::hours{1}});
  const auto state = [](const char* host, WallTime time) {
    return AgentState{.service = "shop", .host = host, .instance = "00", .time = time};
  };
  ASSERT_TRUE(store.note_agents(
      std::vector{state("gone", kNow - std::chrono::hours{26}), state("here", kNow)}));
  EXPECT_EQ(store.agents()->size(), 2U);
  ASSERT_TRUE(store.expire(kNow));
  ASSERT_EQ(store.agents()->size(), 1U);
  EXPECT_EQ(store.agents()->front().host, "here");
}

}  // namespace
}  // namespace clrscope::store
