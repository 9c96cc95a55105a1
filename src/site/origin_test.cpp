#include "site/origin.h"

#include <gtest/gtest.h>

namespace clrscope::site {
namespace {

net::HttpRequest head(std::vector<net::HttpField> fields, std::string method = "GET") {
  fields.push_back({"Host", "127.0.0.1:52323"});
  return {.method = std::move(method), .fields = std::move(fields)};
}

TEST(Origin, ProgramsAreNotAsked) {
  for (const auto* method : {"GET", "POST", "DELETE"})
    EXPECT_FALSE(from_foreign_page(head({}, method), false)) << method;
}

TEST(Origin, NoMethodComesFromAForeignPage) {
  for (const auto* method : {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
    for (const auto* site : {"cross-site", "same-site", "", "SAME-ORIGIN", "same-origin, none"}) {
      EXPECT_TRUE(from_foreign_page(head({{"Sec-Fetch-Site", site}}, method), false)) << site;
      EXPECT_TRUE(from_foreign_page(head({{"Sec-Fetch-Site", site}}, method), true)) << site;
    }
  for (const auto* site : {"same-origin", "none"})
    EXPECT_FALSE(from_foreign_page(head({{"Sec-Fetch-Site", site}}), false)) << site;
}

TEST(Origin, ALinkMayLeadToAPageOnly) {
  const std::vector<net::HttpField> link = {{"Sec-Fetch-Site", "cross-site"},
                                            {"Sec-Fetch-Mode", "navigate"},
                                            {"Sec-Fetch-Dest", "document"}};
  EXPECT_FALSE(from_foreign_page(head(link), true));
  EXPECT_TRUE(from_foreign_page(head(link), false));
  EXPECT_TRUE(from_foreign_page(head(link, "POST"), true));
  auto frame = link;
  frame[2].value = "iframe";
  EXPECT_TRUE(from_foreign_page(head(frame), true));
  auto fetch = link;
  fetch[1].value = "no-cors";
  EXPECT_TRUE(from_foreign_page(head(fetch), true));
}

TEST(Origin, OldBrowsersSayItByOriginAndReferer) {
  for (const auto* field : {"Origin", "Referer"}) {
    for (const auto* foreign :
         {"http://evil.example", "http://127.0.0.1:9/", "null", "", "127.0.0.1:52323",
          "http://127.0.0.1:52323.evil.example", "http://evil.example/http://127.0.0.1:52323",
          "http://evil.example?://127.0.0.1:52323", "http://127.0.0.1:52323@evil.example/"})
      for (const bool to_page : {false, true})
        EXPECT_TRUE(from_foreign_page(head({{field, foreign}}), to_page)) << foreign;
    EXPECT_FALSE(from_foreign_page(head({{field, "http://127.0.0.1:52323"}}), false));
  }
  EXPECT_FALSE(
      from_foreign_page(head({{"Referer", "http://127.0.0.1:52323/stacks?pid=7"}}), false));
  EXPECT_TRUE(from_foreign_page({.method = "GET", .fields = {{"Origin", "http://x"}}}, false));
}

TEST(Origin, ProofIsNeverTheAbsenceOfSigns) {
  EXPECT_FALSE(from_own_page(head({})));
  EXPECT_FALSE(from_own_page(head({{"Sec-Fetch-Site", "none"}})));
  EXPECT_FALSE(from_own_page(head({{"Referer", "http://127.0.0.1:52323/"}})));
  EXPECT_TRUE(from_own_page(head({{"Sec-Fetch-Site", "same-origin"}})));
  EXPECT_TRUE(from_own_page(head({{"Origin", "http://127.0.0.1:52323"}})));
}

}  // namespace
}  // namespace clrscope::site
