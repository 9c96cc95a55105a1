#include "cli/command_text.h"

#include <gtest/gtest.h>

namespace clrscope::cli {
namespace {

TEST(CommandText, IsWhatAPersonTypes) {
  EXPECT_EQ(command_text({"collect", {{"profile", "gc-verbose"}, {"pid", "4312"}}}),
            "clrscope collect -p 4312 --profile gc-verbose");
  EXPECT_EQ(command_text({"stacks", {{"pid", "4312"}, {"native", ""}}}),
            "clrscope stacks -p 4312 --native");
  EXPECT_EQ(command_text({"report", {{"report", "cpu"}}}), "clrscope report FILE cpu");
  EXPECT_EQ(command_text({"check", {{"pid", ""}}}), "clrscope check -p PID");
  EXPECT_EQ(command_text({"ps", {}}), "clrscope ps");
}

TEST(CommandText, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(command_text({"collect", {{"diagnostic-port", "/tmp/it's; rm"}}}),
            "clrscope collect --diagnostic-port '/tmp/it'\\''s; rm'");
}

}  // namespace
}  // namespace clrscope::cli
