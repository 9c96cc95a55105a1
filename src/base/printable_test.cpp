#include "base/printable.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(Printable, EscapesWhatCouldCommandATerminal) {
  EXPECT_EQ(printable("plain äöü 日本 \\u"), "plain äöü 日本 \\u");
  EXPECT_EQ(printable("\x1b[2J\a\r\n\t\x7f"), "\\u001b[2J\\u0007\\u000d\\u000a\\u0009\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");
  EXPECT_EQ(printable("a\u202eb\u2066"), "a\\u202eb\\u2066");
  EXPECT_EQ(printable(std::string_view{"\0", 1}), "\\u0000");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\x9b\xff"
                      "b\xc3"),
            "a\\ufffd\\ufffdb\\ufffd");
}

TEST(Printable, KeepsLinesWhereTheyAreWanted) {
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b"), "a\n\tb\\u000d\\u001b");
}

TEST(Printable, IsTheSameTheSecondTime) {
  const auto once = printable("\x1b]0;x\a");
  EXPECT_EQ(printable(once), once);
}

}  // namespace
}  // namespace clrscope
