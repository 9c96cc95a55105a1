#include "http/markup.h"

#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

TEST(Markup, MakesATableOfTheMembersThatAreAskedFor) {
  const auto rows =
      read_json(R"([{"type":"A<b>","n":1234,"at":{"ms":1.25}},{"type":"B"}])").value();
  const auto html = table_of(
      rows,
      {{"type", "Type"}, {"n", "Count", Column::As::kCount}, {"at.ms", "Took", Column::As::kMs}},
      "Things");
  EXPECT_NE(html.find("<tr><td>A&lt;b&gt;</td><td class=\"num\">1,234</td>"
                      "<td class=\"num\">1.25 ms</td></tr>"),
            std::string::npos)
      << html;
  EXPECT_NE(html.find("<tr><td>B</td><td class=\"num\"></td><td class=\"num\"></td></tr>"),
            std::string::npos);
}

TEST(Markup, CountsTheRowsThatItDoesNotShow) {
  const auto rows = read_json(R"([{"a":1},{"a":2},{"a":3}])").value();
  EXPECT_NE(table_of(rows, {{"a", "A"}}, "Things", 1).find("and 2 more"), std::string::npos);
}

TEST(Markup, MakesNoTableOfNothing) {
  EXPECT_EQ(table_of(read_json("[]").value(), {{"a", "A"}}, "Things"), "");
}

TEST(Markup, EscapesWhatWouldEndAQueryPart) {
  EXPECT_EQ(query_escaped("a b&c=é"), "a%20b%26c%3D%C3%A9");
}

TEST(Markup, CutsTimesToSeconds) {
  EXPECT_EQ(cell_of(JsonValue{std::string{"2026-11-15T10:54:28.5263942Z"}}, Column::As::kTime),
            "2026-11-15 10:54:28");
}

}  // namespace
}  // namespace clrscope::http
