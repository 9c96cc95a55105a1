#include "cli/console.h"

#include <gtest/gtest.h>

#include <functional>

namespace clrscope::cli {
namespace {

TEST(Table, AlignsColumnsByWhatATerminalShows) {
  Table table{{">N", "NAME", "LAST"}};
  table.add({"1", "a", "x"});
  table.add({"22", "äö", "y"});
  EXPECT_EQ(table.text(), " N  NAME  LAST\n 1  a     x\n22  äö    y\n");
}

TEST(Table, KeepsACellOnItsLine) {
  Table table{{"NAME", "LAST"}};
  table.add({"\x1b[2J\n1", "x"});
  EXPECT_EQ(table.text(), "NAME              LAST\n\\u001b[2J\\u000a1  x\n");
}

std::string stdout_of(const std::function<void(Console&)>& use) {
  Console console;
  testing::internal::CaptureStdout();
  use(console);
  return testing::internal::GetCapturedStdout();
}

std::string stderr_of(const std::function<void(Console&)>& use) {
  Console console;
  testing::internal::CaptureStderr();
  use(console);
  return testing::internal::GetCapturedStderr();
}

TEST(Console, EscapesDataOfATarget) {
  EXPECT_EQ(stdout_of([](Console& console) { console.data("a\x1b[31mb\r\n\tc\n"); }),
            "a\\u001b[31mb\\u000d\n\tc\n");
}

TEST(Console, EscapesTalkAndKeepsTextsOnOneLine) {
  const std::string name = "shop\x1b[2J\nclrscope: all is well";
  EXPECT_EQ(stderr_of([&](Console& console) { console.talk("{} ({})\n  next", name, 7); }),
            "shop\\u001b[2J\\u000aclrscope: all is well (7)\n  next\n");
}

TEST(Console, RedrawsWithItsOwnSequencesOnly) {
  EXPECT_EQ(stdout_of([](Console& console) { console.redraw(2, "a\x1b[9A\nb\n"); }),
            "\x1b[2Aa\\u001b[9A\x1b[K\nb\x1b[K\n\x1b[J");
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
