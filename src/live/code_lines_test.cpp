#include "live/code_lines.h"

#include <gtest/gtest.h>

#include <thread>

namespace clrscope::live {
namespace {

TEST(CodeLines, LookUpEachAddressOnce) {
  int opened = 0, asked = 0;
  CodeLines lines{[&]() -> Result<LineAt> {
    ++opened;
    return LineAt{[&](std::uint64_t address) -> std::optional<SourceLine> {
      ++asked;
      if (address == 7) return std::nullopt;
      return SourceLine{"/src/Shop.cs", 12};
    }};
  }};
  for (int answer = 0; answer < 3; ++answer) {
    const auto line_at = lines.for_answer();
    EXPECT_EQ(line_at(5)->line, 12U);
    EXPECT_FALSE(line_at(7));
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(asked, 2);
}

TEST(CodeLines, AProcessThatRefusesIsNotOpenedForEachAnswer) {
  int opened = 0;
  CodeLines lines{[&]() -> Result<LineAt> {
    ++opened;
    return fail(Errc::kDenied, "no");
  }};
  for (int answer = 0; answer < 3; ++answer) EXPECT_FALSE(lines.for_answer()(5));
  EXPECT_EQ(opened, 1);
}

TEST(CodeLines, AProcessThatOpensSlowlyIsAskedNevertheless) {
  CodeLines lines{[]() -> Result<LineAt> {
    std::this_thread::sleep_for(CodeLines::kPatience + std::chrono::milliseconds{10});
    return LineAt{[](std::uint64_t) { return SourceLine{"/src/Shop.cs", 12}; }};
  }};
  EXPECT_TRUE(lines.for_answer()(5));
}

TEST(CodeLines, WithoutAWayToLookThemUpThereAreNone) {
  CodeLines lines{{}};
  EXPECT_FALSE(lines.for_answer());
}

}  // namespace
}  // namespace clrscope::live
