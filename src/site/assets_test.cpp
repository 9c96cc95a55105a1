#include "site/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::site {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Assets, HoldTheScriptTheStylesAndSpeedscope) {
  for (const auto* path : {"app.js", "style.css", "icon.svg", "speedscope/index.html"})
    EXPECT_NE(find_asset(path), nullptr) << path;
}

TEST(Assets, AreFoundByTheirWholePathOnly) {
  EXPECT_EQ(find_asset(""), nullptr);
  EXPECT_EQ(find_asset("/app.js"), nullptr);
  EXPECT_EQ(find_asset("speedscope"), nullptr);
  EXPECT_EQ(find_asset("speedscope/../app.js"), nullptr);
}

TEST(Assets, EachUnpacksToItsPlainSize) {
  ASSERT_FALSE(assets().empty());
  for (const auto& one : assets()) {
    const auto plain = plain_content(one);
    ASSERT_TRUE(plain) << one.path << ": " << plain.error().what;
    EXPECT_EQ(plain->size(), one.plain_size) << one.path;
    EXPECT_FALSE(one.mime.empty()) << one.path;
    EXPECT_EQ(one.etag.size(), 16u) << one.path;
  }
}

TEST(Assets, TheScriptNamesNoFolderOfTheMachineThatBuiltIt) {
  const auto script = plain_content(*find_asset("app.js")).value();
  EXPECT_THAT(script, Not(HasSubstr("node_modules")));
  EXPECT_THAT(script, Not(HasSubstr("sourceMappingURL")));
}

}  // namespace
}  // namespace clrscope::site
