#include "http/shell.h"

#include <gtest/gtest.h>

#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr Route kData{.method = "GET",
                      .path = "/stacks",
                      .summary = "",
                      .types = "application/json text/plain application/speedscope+json"};
constexpr Route kJsonOnly{.method = "GET", .path = "/sessions", .summary = "", .types = kJson};

TEST(Shell, PagesAreThoseOfTheApp) {
  EXPECT_TRUE(is_page("/"));
  EXPECT_TRUE(is_page("/stacks"));
  EXPECT_TRUE(is_page("/doctor/reports/123"));
  EXPECT_FALSE(is_page("/doctor/reports/123/report.html"));
  EXPECT_FALSE(is_page("/processes"));
  EXPECT_FALSE(is_page("/assets/app.js"));
}

TEST(Shell, IsForWhoPrefersPages) {
  EXPECT_NE(shell_route("/stacks", &kData, "text/html,*/*;q=0.8"), nullptr);
  EXPECT_EQ(shell_route("/stacks", &kData, "*/*"), nullptr);
  EXPECT_EQ(shell_route("/stacks", &kData, "application/json"), nullptr);
  EXPECT_EQ(shell_route("/processes", &kData, "text/html,*/*;q=0.8"), nullptr);
}

TEST(Shell, AnAddressThatDoesNotExistIsAPageForBrowsersOnly) {
  const auto* missing = shell_route("/nowhere", nullptr, "text/html,*/*;q=0.8");
  ASSERT_NE(missing, nullptr);
  EXPECT_NE(missing, shell_route("/stacks", &kData, "text/html"));
  EXPECT_EQ(shell_route("/nowhere", nullptr, "*/*"), nullptr);
  EXPECT_EQ(shell_route("/nowhere", nullptr, std::nullopt), nullptr);
}

TEST(Shell, LinksToTheSameAsTextOrAsJson) {
  EXPECT_EQ(text_link("", "/stacks", &kData), "/stacks?accept=text/plain");
  EXPECT_EQ(text_link("/b", "/stacks?pid=7", &kData), "/b/stacks?pid=7&accept=text/plain");
  EXPECT_EQ(text_link("", "/sessions", &kJsonOnly), "/sessions?accept=application/json");
  EXPECT_EQ(text_link("/b", "/nowhere?pid=7", nullptr), "/b/watch?accept=text/plain");
}

TEST(Shell, APageWithoutARouteOfItsOwnLinksToTheTextThatTellsItsData) {
  EXPECT_EQ(text_link("", "/", nullptr), "/watch?accept=text/plain");
  EXPECT_EQ(text_link("/b", "/overview?tab=x&pid=7", nullptr), "/b/watch/7?accept=text/plain");
  EXPECT_EQ(text_link("", "/overview?pid=7%2f..", nullptr), "/watch?accept=text/plain");
  EXPECT_EQ(text_link("", "/agent?pid=7", &kJsonOnly), "/watch/7?accept=text/plain");
  EXPECT_EQ(text_link("", "/record?pid=7", nullptr), "/sessions?accept=text/plain");
  EXPECT_EQ(text_link("", "/api", nullptr), "/openapi.json?accept=text/plain");
  EXPECT_EQ(text_link("", "/recordings/5/requests?tab=x", nullptr),
            "/recordings/5/report/requests?accept=text/plain");
}

TEST(Shell, TheLinkAsksForOneTypeOnly) {
  EXPECT_EQ(text_link("", "/stacks?accept=text/html&pid=7", &kData),
            "/stacks?pid=7&accept=text/plain");
}

TEST(Shell, TheLinkLeadsToThisServer) {
  EXPECT_EQ(text_link("", "//evil.example/stacks", &kData), "/watch?accept=text/plain");
}

}  // namespace
}  // namespace clrscope::http
