#include "site/accept.h"

#include <gtest/gtest.h>

namespace clrscope::site {
namespace {

constexpr const char* kBrowser =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
constexpr std::string_view kTypes = "application/json text/plain";

TEST(Accept, AParameterOverridesTheField) {
  net::HttpRequest head{.method = "GET", .fields = {{"Accept", kBrowser}}};
  EXPECT_EQ(accept_of(head), kBrowser);
  head.query = "pid=7&accept=text/plain";
  EXPECT_EQ(accept_of(head), "text/plain");
  head.query = "accept=application/speedscope+json";
  EXPECT_EQ(accept_of(head), "application/speedscope+json");
}

TEST(Accept, AParameterMeansNothingWhereSomethingIsChanged) {
  const net::HttpRequest head{.method = "POST", .query = "accept=text/plain"};
  EXPECT_EQ(accept_of(head), std::nullopt);
}

TEST(Accept, ChoosesTheFirstOfTypesLikedAlike) {
  EXPECT_EQ(best_type(kTypes, std::nullopt), "application/json");
  EXPECT_EQ(best_type(kTypes, "*/*"), "application/json");
  EXPECT_EQ(best_type(kTypes, kBrowser), "application/json");
  EXPECT_EQ(best_type(kTypes, "text/*"), "text/plain");
  EXPECT_EQ(best_type(kTypes, "image/png"), "");
  EXPECT_EQ(best_type("", "*/*"), "");
}

TEST(Accept, BrowsersPreferPagesAndProgramsDoNot) {
  EXPECT_TRUE(prefers_html(kTypes, kBrowser));
  EXPECT_TRUE(prefers_html(kTypes, "text/html"));
  EXPECT_FALSE(prefers_html(kTypes, "*/*"));
  EXPECT_FALSE(prefers_html(kTypes, std::nullopt));
  EXPECT_FALSE(prefers_html(kTypes, "application/json"));
  EXPECT_FALSE(prefers_html(kTypes, "text/html;q=0.5, text/plain"));
}

}  // namespace
}  // namespace clrscope::site
