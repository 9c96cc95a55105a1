#include "inspect/dac/locate.h"

#include <gtest/gtest.h>

namespace clrscope::inspect::dac {
namespace {

using namespace std::string_view_literals;

TEST(DacLocate, FindsTheBuildsIdentity) {
  EXPECT_EQ(identity_in(as_bytes("..@(#)Version 8.0.3126.42015 @Commit: 1219a\0.."sv)),
            "8.0.3126.42015 @Commit: 1219a");
  EXPECT_EQ(identity_in(as_bytes("@(#)Version \0@(#)Version 9.0.1 @Commit: x\0"sv)),
            "9.0.1 @Commit: x");
}

TEST(DacLocate, FindsNoneInWhatIsCutOrOdd) {
  EXPECT_EQ(identity_in({}), "");
  EXPECT_EQ(identity_in(as_bytes("@(#)Version 8.0.1 @Commit: 12"sv)), "") << "no end";
  EXPECT_EQ(identity_in(as_bytes("@(#)Version 8.0.1\0"sv)), "") << "no commit";
  EXPECT_EQ(identity_in(as_bytes("@(#)Version \x01 @Commit: 1\0"sv)), "") << "not printable";
  EXPECT_EQ(identity_in(as_bytes("@(#)Version @Commit:" + std::string(300, 'x'))), "");
}

TEST(DacLocate, KnowsMuslByItsLoader) {
  const auto mapped = [](std::string path) {
    const Mapping mappings[] = {{.path = "/app/shop"}, {.path = std::move(path)}};
    return uses_musl(mappings);
  };
  EXPECT_TRUE(mapped("/lib/ld-musl-x86_64.so.1"));
  EXPECT_TRUE(mapped("/lib/libc.musl-x86_64.so.1"));
  EXPECT_TRUE(mapped("/lib/ld-musl-aarch64.so.1 (deleted)"));
  EXPECT_FALSE(mapped("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"));
  EXPECT_FALSE(mapped("/opt/ld-musl-tools/libfoo.so"));
  EXPECT_FALSE(mapped(""));
}

TEST(DacLocate, KnowsTheVersionThatPeopleSay) {
  EXPECT_EQ(version_of_identity("8.0.3126.42015 @Commit: 1219a"), "8.0.31");
  EXPECT_EQ(version_of_identity("10.0.1226.42308 @Commit: 95017"), "10.0.12");
  EXPECT_EQ(version_of_identity("x.y.z"), "");
  EXPECT_EQ(version_of_identity(""), "");
}

}  // namespace
}  // namespace clrscope::inspect::dac
