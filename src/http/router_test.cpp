#include "http/router.h"

#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

constexpr Route kRoutes[] = {
    {.method = "GET", .path = "/sessions/{id}", .summary = ""},
    {.method = "POST", .path = "/sessions/{id}/stop", .summary = ""},
    {.method = "GET", .path = "/sessions/all", .summary = ""},
    {.method = "DELETE", .path = "/sessions/{id}", .summary = ""},
};

Router router() {
  const Routes groups[] = {kRoutes};
  return Router{groups};
}

TEST(Router, TakesTheValuesOfBraces) {
  const auto match = router().find("POST", "/sessions/7 a/stop");
  ASSERT_EQ(match.route, &kRoutes[1]);
  EXPECT_EQ(match.values, std::vector<std::string>{"7 a"});
}

TEST(Router, PrefersAFixedPath) {
  EXPECT_EQ(router().find("GET", "/sessions/all").route, &kRoutes[2]);
}

TEST(Router, AnswersHeadAsGet) {
  EXPECT_EQ(router().find("HEAD", "/sessions/5").route, &kRoutes[0]);
}

TEST(Router, SaysWhichMethodsAPathHas) {
  const auto match = router().find("PUT", "/sessions/5");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, "GET, DELETE");
}

TEST(Router, KnowsNothingOfOtherPaths) {
  EXPECT_EQ(router().find("GET", "/sessions").route, nullptr);
  EXPECT_EQ(router().find("GET", "/sessions/").route, nullptr);
  EXPECT_EQ(router().find("GET", "/sessions/5/6").route, nullptr);
  EXPECT_TRUE(router().find("GET", "/../etc").allowed.empty());
}

TEST(Router, HoldsEveryRouteOnce) {
  const Router all{route_groups()};
  for (const auto* route : all.routes()) {
    EXPECT_NE(route->answer == nullptr, route->serve == nullptr) << route->path;
    std::size_t same = 0;
    for (const auto* other : all.routes())
      same += other->path == route->path && other->method == route->method;
    EXPECT_EQ(same, 1U) << route->path;
  }
}

}  // namespace
}  // namespace clrscope::http
