#include "net/socket.h"

#include <gtest/gtest.h>

namespace clrscope::net {
namespace {

TEST(ParseAddress, TakesNamesNumbersAndPaths) {
  EXPECT_EQ(parse_address("carbon.example:2003")->port, "2003");
  EXPECT_EQ(parse_address("[::1]:2003")->host, "::1");
  EXPECT_EQ(parse_address("[::1]:2003")->text(), "[::1]:2003");
  EXPECT_EQ(parse_address("host", "8125")->port, "8125");
  EXPECT_EQ(parse_address("unix:/run/a.sock")->path, "/run/a.sock");
}

TEST(ParseAddress, RefusesWhatIsNone) {
  for (const auto* text : {"", ":", "host", "host:", "host:99999", "host:http", "[::1", "unix:"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address("unix:" + std::string(200, 'x')));
}

TEST(Connect, SaysWhomItCouldNotReach) {
  const auto fd = connect({.path = "/nowhere/at/all.sock"}, Transport::kStream,
                          Deadline{std::chrono::seconds{1}});
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().what.find("unix:/nowhere/at/all.sock"), std::string::npos);
}

}  // namespace
}  // namespace clrscope::net
