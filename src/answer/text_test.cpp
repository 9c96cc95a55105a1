#include "answer/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/table.h"
#include "base/text.h"

namespace clrscope::answer {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, ShortensArgumentsFirstAndThenTheBeginning) {
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 30), "Shop.Cart.Add(int, string)");
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 20), "Shop.Cart.Add(…)");
  EXPECT_EQ(shorten_name("Shop.Cart.Add(int, string)", 10), "…rt.Add(…)");
}

TEST(ShortenName, KeepsTheVerbAndTheLastSegmentsOfARoute) {
  constexpr auto kRoute = "DELETE /shops/{shop}/carts/{cart}/items/{id}";
  EXPECT_EQ(shorten_name(kRoute, 44), kRoute);
  EXPECT_EQ(shorten_name(kRoute, 40), "DELETE …/{shop}/carts/{cart}/items/{id}");
  EXPECT_EQ(shorten_name(kRoute, 20), "DELETE …/items/{id}");
  EXPECT_EQ(shorten_name("GET /prices/{currency}", 20), "GET …/{currency}");
  EXPECT_EQ(shorten_name("GET /averyveryverylongsegment", 14), "GET …ngsegment");
}

TEST(Page, IsNeverWiderThanAsked) {
  const std::string longest(300, 'x');
  const Document page{
      .summary =
          {"A sentence that is so long that it does not fit into a line and has to be broken."},
      .tables = {{.columns = {">COUNT", "METHOD", "MODULE"},
                  .rows = {{"12", longest, longest}, {"1", "short", "m"}}}}};
  const auto text = page_text(page, 60);
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), 60U) << line;
  EXPECT_THAT(text, HasSubstr("short"));
}

TEST(Page, NarrowsOtherColumnsBeforeTheOneThatKeepsItsWidth) {
  const std::string method = "Shop.Checkout.Payments.CardPaymentProvider.AuthorizeAsync";
  const std::string module = "Microsoft.Extensions.DependencyInjection.Abstractions";
  DocumentTable table{.columns = {">SELF", "METHOD", "MODULE"},
                      .rows = {{"12.5 %", method + "(System.String, System.Decimal)", module}},
                      .keeps = "METHOD"};
  const auto kept = page_text({.summary = {}, .tables = {table}}, 100);
  EXPECT_THAT(kept, HasSubstr(method + "(…)"));
  EXPECT_THAT(kept, HasSubstr("…endencyInjection.Abstractions"));
  EXPECT_THAT(kept, Not(HasSubstr(module)));
  table.keeps.clear();
  EXPECT_THAT(page_text({.summary = {}, .tables = {table}}, 100), Not(HasSubstr(method)));
}

TEST(Page, NarrowsTheOneThatKeepsItsWidthWhenNothingElseCan) {
  const std::string longest(300, 'x');
  const Document page{.summary = {},
                      .tables = {{.columns = {">COUNT", "METHOD", "MODULE"},
                                  .rows = {{"12", longest, longest}},
                                  .keeps = "METHOD"}}};
  const auto text = page_text(page, 60);
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), 60U) << line;
}

TEST(Page, KeepsNamesFromMovingTheCursor) {
  const Document page{.summary = {},
                      .tables = {{.columns = {"TYPE"}, .rows = {{"Evil\x1b[2J\r\nName"}}}}};
  EXPECT_THAT(page_text(page), Not(HasSubstr("\x1b")));
  EXPECT_THAT(page_text(page), HasSubstr("Evil\\u001b[2J\\u000d\\u000aName"));
}

TEST(Page, WritesBlocksInOrder) {
  const Document page{
      .summary = {"Shop (7)"},
      .blocks = {Gap{},
                 Heading{.text = "✖ CS1001 Deadlock", .tone = Tone::kHarm, .aside = "certain"},
                 Paragraph{"thread 11 \"orders\"  waits", 4},
                 FrameLines{{{"Shop.Orders.Place()", "Orders.cs:12"}}, 8},
                 Facts{{{"memory", "no", Tone::kHarm, "may not be read", "run as root"}}}}};
  EXPECT_EQ(page_text(page, 60),
            "Shop (7)\n\n"
            "✖ CS1001 Deadlock" +
                std::string(36, ' ') +
                "certain\n"
                "    thread 11 \"orders\"  waits\n"
                "        Shop.Orders.Place()  Orders.cs:12\n"
                "  memory                no      may not be read\n"
                "                                hint: run as root\n");
}

TEST(Page, FitsBlocksIntoTheWidthUnlessLinesAreToStayWhole) {
  const std::string name = "Shop.Orders.Place(System.Collections.Generic.List`1[System.String])";
  const Document page{
      .summary = {},
      .blocks = {Heading{.text = "✖ CS1001 Deadlock: 2 threads are waiting for each other",
                         .aside = "certain"},
                 Paragraph{"each one holds the lock that the next one needs to go on", 4},
                 Paragraph{name, 4, Fit::kCut}, FrameLines{{{name, "Orders.cs:12"}}, 8},
                 Facts{{{"memory", "no", Tone::kHarm, "the memory of the process may not be read",
                         "run as root or as its user"}}}}};
  const auto text = page_text(page, 50);
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), 50U) << line;
  EXPECT_THAT(text, HasSubstr("  Orders.cs:12\n"));
  EXPECT_THAT(page_text(page, kWholeLines), HasSubstr("        " + name + "  Orders.cs:12\n"));
  EXPECT_THAT(page_text(page, kWholeLines), HasSubstr("each other  certain\n"));
}

TEST(Page, SpellsRemediesAsTheReaderNeedsThem) {
  const Document page{
      .summary = {},
      .blocks = {NextSteps{"Next", {{"collect", {{"pid", "7"}}}, {"top", {}}}, "CPU samples only"},
                 NextSteps{"Next", {}, "nothing while it is stopped"}}};
  EXPECT_EQ(page_text(page),
            "Next: collect pid=7; top (CPU samples only)\nNext: nothing while it is stopped\n");
  EXPECT_THAT(page_text(page, {.spell = [](const Remedy& one) { return "/" + one.verb; }}),
              HasSubstr("Next: /collect; /top ("));
}

TEST(Page, PaintsWhatIsHarmful) {
  const Document page{.summary = {},
                      .blocks = {Heading{.text = "✖ Deadlock", .tone = Tone::kHarm}}};
  EXPECT_EQ(page_text(page, {.paint =
                                 [](Tone tone, std::string_view text) {
                                   return (tone == Tone::kHarm ? "!" : "") + std::string{text};
                                 }}),
            "!✖ Deadlock\n");
}

}  // namespace
}  // namespace clrscope::answer
