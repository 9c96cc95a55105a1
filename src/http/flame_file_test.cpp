#include "http/flame_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

using testing::HasSubstr;
using testing::Not;

ops::FlameRead evil() {
  ops::FlameRead read;
  read.title = "</title><script>alert(1)</script>";
  read.graph.names = {{.method = "all"},
                      {.method = "Evil</script><img src=x onerror=alert(2)>@data@"}};
  read.graph.nodes = {{}, {0, 1}};
  read.graph.threads = {{ProcessId{1}, ThreadId{1}, "<b>"}};
  read.graph.processes = {{ProcessId{1}, "<i>"}};
  read.graph.rows = {{.thread = 0, .node = 1, .samples = 5, .on_us = 5000}};
  read.graph.samples = 5;
  return read;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(FlameFile, LetsNoNameBecomeMarkup) {
  const auto page = flame_file(evil()).value();
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(count(page, "</script>"), 2U);  // the data and the viewer
  EXPECT_EQ(count(page, "@data@"), 2U);     // the method's name, in the text and in the data
}

TEST(FlameFile, AllowsItsOwnScriptOnlyAndNoRequest) {
  const auto page = flame_file(evil()).value();
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
}

TEST(FlameFile, SaysTheHottestFunctionsWithoutItsScript) {
  EXPECT_THAT(flame_file(evil()).value(), HasSubstr("100.0%  100.0%  Evil&lt;/script&gt;"));
}

}  // namespace
}  // namespace clrscope::http
