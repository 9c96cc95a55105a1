#include "ops/runtimes.h"

#include <gtest/gtest.h>

#include "ops/target.h"

namespace clrscope::ops {
namespace {

Process process(pid_t pid, const std::string& reason = "") {
  return {.pid = pid, .name = "app", .user = "me", .reason = reason};
}

Process connected(pid_t pid, const std::string& uid, bool foreign) {
  Process one{.pid = pid, .name = "app", .user = ""};
  one.uid = uid;
  one.by_port = true;
  one.foreign = foreign;
  return one;
}

TEST(Runtimes, WritesIdsAsDotnetDoes) {
  EXPECT_EQ(uid_text({0x19, 0xa3, 0x4d, 0xcd, 0x9e, 0xfa, 0x87, 0x49, 0xac, 0x4e, 0xe5, 0x7b, 0x2a,
                      0xac, 0x24, 0x8b}),
            "cd4da319-fa9e-4987-ac4e-e57b2aac248b");
}

TEST(Runtimes, AProcessThatIsSeenAndConnectedIsListedOnce) {
  const auto all = joined({process(7)}, {connected(7, "a", false)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].uid, "a");
  EXPECT_FALSE(all[0].by_port);  // its own socket is the shorter way
  EXPECT_EQ(all[0].user, "me");
}

TEST(Runtimes, AProcessWhoseSocketCannotBeHadIsReachedByItsPort) {
  const auto all = joined({process(7, "Permission denied")}, {connected(7, "a", false)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].by_port);
  EXPECT_TRUE(all[0].reachable());
}

TEST(Runtimes, AForeignNumberIsNobodyHere) {
  const auto all = joined({process(7)}, {connected(7, "a", true)});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_NE(all[0].foreign, all[1].foreign);
}

TEST(ParsePort, TakesWhoListensAndWhoMayConnect) {
  EXPECT_FALSE(parse_port("/a/port")->listens);
  EXPECT_FALSE(parse_port("/a/port,connect")->listens);
  const auto words = parse_port("/a/port,listen,group");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->path, "/a/port");
  EXPECT_TRUE(words->listens);
  EXPECT_EQ(words->mode, 0660U);
  EXPECT_EQ(parse_port("/a/port,listen")->mode, 0600U);
  EXPECT_EQ(parse_port("/a/port,listen,all")->mode, 0666U);
  EXPECT_FALSE(parse_port("/a/port,everybody"));
  EXPECT_FALSE(parse_port(",listen"));
}

}  // namespace
}  // namespace clrscope::ops
