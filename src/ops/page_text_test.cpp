#include "ops/page_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/table.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, ShortensArgumentsFirstAndThenTheBeginning) {
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 30), "Shop.Cart.Add(int, string)");
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 20), "Shop.Cart.Add(…)");
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 10), "…rt.Add(…)");
}

TEST(Page, IsNeverWiderThanAsked) {
  const std::string longest(300, 'x');
  const analyze::Page page{
      .summary =
          {"A sentence that is so long that it does not fit into a line and has to be broken."},
      .tables = {{.columns = {">COUNT", "METHOD", "MODULE"},
                  .rows = {{"12", longest, longest}, {"1", "short", "m"}}}}};
  const auto text = page_text(page, 60);
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), 60U) << line;
  EXPECT_THAT(text, HasSubstr("short"));
}

TEST(Page, KeepsNamesFromMovingTheCursor) {
  const analyze::Page page{.summary = {},
                           .tables = {{.columns = {"TYPE"}, .rows = {{"Evil\x1b[2J\r\nName"}}}}};
  EXPECT_THAT(page_text(page), Not(HasSubstr("\x1b")));
  EXPECT_THAT(page_text(page), HasSubstr("Evil\\u001b[2J\\u000d\\u000aName"));
}

}  // namespace
}  // namespace clrscope::ops
