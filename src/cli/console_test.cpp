#include "cli/console.h"

#include <gtest/gtest.h>

namespace clrscope::cli {
namespace {

TEST(Table, AlignsColumnsByWhatATerminalShows) {
  Table table{{">N", "NAME", "LAST"}};
  table.add({"1", "a", "x"});
  table.add({"22", "\x1b[33mäö\x1b[0m", "y"});
  EXPECT_EQ(table.text(), " N  NAME  LAST\n 1  a     x\n22  \x1b[33mäö\x1b[0m    y\n");
}

TEST(Table, FillsCellsThatARowLeavesOut) {
  Table table{{"A", "B"}};
  table.add({"x"});
  EXPECT_EQ(table.text(), "A  B\nx\n");
}

TEST(Console, CutsTextToAWidthWithoutBreakingACharacter) {
  EXPECT_EQ(cut_to_width("short", 10), "short");
  EXPECT_EQ(cut_to_width("äöüäöü", 3), "äö…");
  EXPECT_EQ(display_width(cut_to_width("a long line of text", 7)), 7U);
}

TEST(Console, CutsTextInTheMiddleWhereItsEndTells) {
  EXPECT_EQ(cut_middle("short", 10), "short");
  EXPECT_EQ(cut_middle("a.long.name [generation=gen0]", 18), "a.long.name […en0]");
  EXPECT_EQ(cut_middle("a.long.name [größe=äöü]", 9), "a.long…ü]");
}

}  // namespace
}  // namespace clrscope::cli
