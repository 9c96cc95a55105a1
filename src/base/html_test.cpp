#include "base/html.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(Html, LeavesNothingThatAPageWouldObey) {
  EXPECT_EQ(html_escaped("<a href=\"x\" onclick='y'>&"),
            "&lt;a href=&quot;x&quot; onclick=&#39;y&#39;&gt;&amp;");
}

TEST(Html, KeepsOtherText) { EXPECT_EQ(html_escaped("Häuser.Größe()"), "Häuser.Größe()"); }

}  // namespace
}  // namespace clrscope
