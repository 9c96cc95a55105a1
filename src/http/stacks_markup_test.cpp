#include "http/stacks_markup.h"

#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

TEST(StacksMarkup, LinksThreadsAndLocksToWhereTheyAreToldOf) {
  const auto html = stacks_markup(
      "    thread 31 \"a\" waiting for 0x7f3a10 (Shop.Stock) held by thread 44 \"b\"\n"
      "Thread (0x2C): 44 \"b\"  sleeping\n"
      "  holds 0x7f3a10 (Shop.Stock), wanted by 1\n");
  EXPECT_NE(html.find("held by <a href=\"#t44\">thread 44</a>"), std::string::npos) << html;
  EXPECT_NE(html.find("waiting for <a href=\"#l0x7f3a10\">0x7f3a10</a>"), std::string::npos);
  EXPECT_NE(html.find("<b id=\"t44\">Thread (0x2C): 44"), std::string::npos);
  EXPECT_NE(html.find("<span id=\"l0x7f3a10\">"), std::string::npos);
}

TEST(StacksMarkup, LinksNothingThatIsNotThere) {
  EXPECT_EQ(stacks_markup("held by thread 7\nxthread 7 0x7f3a10\n"),
            "held by thread 7\nxthread 7 0x7f3a10\n");
}

TEST(StacksMarkup, ShowsMarkupInNamesAsText) {
  const auto html =
      stacks_markup("Thread (0x7): 7 \"<script>alert(1)</script>\"\n  app!A.<b>.M(thread 7)\n");
  EXPECT_EQ(html.find("<script>"), std::string::npos);
  EXPECT_NE(html.find("app!A.&lt;b&gt;.M(thread 7)"), std::string::npos) << html;
}

}  // namespace
}  // namespace clrscope::http
