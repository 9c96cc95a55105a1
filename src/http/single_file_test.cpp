#include "http/single_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_reader.h"

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

// Between the tags of the data element.
std::string data_of(const std::string& page) {
  const auto element = page.find("id=\"data\"");
  const auto begin = page.find('>', element) + 1;
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(SingleFile, LetsNoNameBecomeMarkup) {
  const auto page = flame_file(evil());
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(count(page, "</script>"), 2U);  // of the data and of the app
  EXPECT_EQ(count(page, "@data@"), 2U);     // the method's name, in the text and in the data
}

TEST(SingleFile, HoldsTheDataAsTheyAre) {
  for (const std::string_view text :
       {"</script>", "</ScRiPt ><script>alert(1)//", "<!--<script>", "]]>", "\\u003c", "&lt;"}) {
    const auto json = "{\"name\":" + json_text(std::string{text}) + "}";
    const auto page = single_file({.kind = "stacks", .title = "t", .text = "", .json = json});
    const auto data = data_of(page);
    EXPECT_THAT(data, Not(HasSubstr("<"))) << text;
    const auto read = read_json(data);
    ASSERT_TRUE(read) << data;
    EXPECT_EQ(*read->find("name")->text(), text);
  }
}

TEST(SingleFile, EscapesJsonThatWasWrittenElsewhere) {
  const auto page = single_file(
      {.kind = "doctor", .title = "t", .text = "", .json = R"({"name":"</script><!--"})"});
  EXPECT_EQ(data_of(page), R"({"name":"\u003c/script>\u003c!--"})");
}

TEST(SingleFile, TellsTheAppWhichPageItIs) {
  const auto page = single_file({.kind = "doctor", .title = "t", .text = "", .json = "{}"});
  EXPECT_THAT(
      page,
      HasSubstr("<script type=\"application/json\" id=\"data\" data-kind=\"doctor\">{}</script>"));
}

TEST(SingleFile, AllowsItsOwnScriptOnlyAndNoRequest) {
  const auto page = flame_file(evil());
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
}

TEST(SingleFile, ShowsItsTextWithoutItsScript) {
  const auto page = flame_file(evil());
  const auto begin = page.find("<noscript>");
  const auto end = page.find("</noscript>");
  ASSERT_LT(begin, end);
  EXPECT_THAT(page.substr(begin, end - begin), HasSubstr("100.0%  100.0%  Evil&lt;/script&gt;"));
}

}  // namespace
}  // namespace clrscope::http
