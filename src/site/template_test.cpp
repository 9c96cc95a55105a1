#include "site/template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "site/assets.h"

namespace clrscope::site {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Template, FillsEveryPlaceOfAMark) {
  const Mark marks[] = {{"a", "1"}, {"b", "2"}};
  EXPECT_EQ(fill("@a@ @b@-@a@", marks), "1 2-1");
}

TEST(Template, EscapesText) {
  const Mark marks[] = {{"a", "<b> & \"c\""}};
  EXPECT_EQ(fill("<p title=\"@a@\">@a@</p>", marks),
            "<p title=\"&lt;b&gt; &amp; &quot;c&quot;\">&lt;b&gt; &amp; &quot;c&quot;</p>");
}

TEST(Template, KeepsJsonFromEndingItsElement) {
  const Mark marks[] = {{"data", R"({"a":"</script><!--<script>"})", Mark::As::kScript}};
  EXPECT_EQ(fill("<script>@data@</script>", marks),
            "<script>{\"a\":\"\\u003c/script>\\u003c!--\\u003cscript>\"}</script>");
}

TEST(Template, DoesNotSearchValuesForMarks) {
  const Mark marks[] = {{"a", "@b@"}, {"b", "@a@"}};
  EXPECT_EQ(fill("@a@ @b@", marks), "@b@ @a@");
}

TEST(Template, LeavesOtherAtSignsAlone) {
  const Mark marks[] = {{"a", "1"}};
  EXPECT_EQ(fill("@media x{} @@a@@ @ab@ me@a.b @", marks), "@media x{} @1@ @ab@ me@a.b @");
}

TEST(TemplateDeathTest, RefusesAMarkThatThePageDoesNotHave) {
  const Mark marks[] = {{"a", "1"}, {"b", "2"}};
  EXPECT_DEATH(fill("@a@", marks), "");
}

TEST(Template, FilesNameTheVersionOfEachAsset) {
  for (const auto* name : {"templates/index.html", "templates/sign-in.html"}) {
    const auto page = plain_content(*find_asset(name)).value();
    const auto style = std::string{find_asset("style.css")->etag};
    EXPECT_THAT(page, HasSubstr("\"@base@/assets/style.css?v=" + style + "\"")) << name;
    EXPECT_THAT(page, Not(HasSubstr("@etag"))) << name;
  }
}

}  // namespace
}  // namespace clrscope::site
