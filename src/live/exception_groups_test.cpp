#include "live/exception_groups.h"

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::live {
namespace {

using analyze::Frame;
using analyze::FrameKind;

Thrown thrown(std::string type, std::vector<std::uint64_t> addresses, std::string message = "no") {
  return {
      .type = std::move(type), .message = std::move(message), .addresses = std::move(addresses)};
}

// The method begins at a multiple of 100; those below 1000 are the runtime's.
std::vector<Frame> frames_of(const Thrown& one) {
  std::vector<Frame> frames;
  for (const auto address : one.addresses) {
    if (frames.empty() && address < 100) continue;  // what throws is left out
    frames.push_back({.method = fmt::format("Shop.M{}()", address / 100),
                      .module = "Shop",
                      .kind = address < 1000 ? FrameKind::kFramework : FrameKind::kManaged});
  }
  return frames;
}

TEST(ExceptionGroups, HaveTheSameTypeAndTheSameMethods) {
  const auto all = group_exceptions({thrown("B", {1001, 2001}), thrown("A", {1001, 2001}),
                                     thrown("A", {1050, 2001}), thrown("A", {1001, 3001})},
                                    frames_of, {});
  ASSERT_EQ(all.groups.size(), 3U);
  EXPECT_EQ(all.groups[0].type, "A");
  EXPECT_EQ(all.groups[0].count + all.groups[1].count, 3U);
  EXPECT_EQ(all.groups[2].type, "B");
  EXPECT_NE(all.groups[0].id, all.groups[1].id);
}

TEST(ExceptionGroups, HaveTheLinesOfTheNewestInTheApplicationsOwnFrames) {
  std::vector<std::uint64_t> asked;
  const auto all = group_exceptions(
      {thrown("A", {1010, 2001}), thrown("A", {7, 1050, 500, 2001})},
      [](const Thrown& one) { return frames_of(one); },
      [&](std::uint64_t address) -> std::optional<SourceLine> {
        asked.push_back(address);
        if (address == 2000) return std::nullopt;
        return SourceLine{"/src/Shop.cs", static_cast<std::uint32_t>(address - 1000)};
      });
  ASSERT_EQ(all.groups.size(), 2U);
  const auto& newest = all.groups[0].stack.size() == 3 ? all.groups[0] : all.groups[1];
  EXPECT_EQ(newest.stack[0].file, "/src/Shop.cs");
  EXPECT_EQ(newest.stack[0].line, 49U);  // of the call before the address
  EXPECT_FALSE(newest.stack[1].line);    // the framework's
  EXPECT_FALSE(newest.stack[2].line);    // unknown: the frame stays as it is
  EXPECT_EQ(newest.stack[2].method, "Shop.M20()");
  EXPECT_THAT(asked, testing::Not(testing::Contains(499U)));
}

TEST(ExceptionGroups, AreBoundedAndTheOldestAreLeftOut) {
  std::vector<Thrown> many;
  for (std::uint64_t i = 0; i < ExceptionGroups::kMost + 7; ++i)
    many.push_back(thrown(fmt::format("T{:04}", i), {1001}));
  const auto all = group_exceptions(many, frames_of, {});
  EXPECT_EQ(all.groups.size(), ExceptionGroups::kMost);
  EXPECT_EQ(all.more, 7U);
  EXPECT_EQ(all.groups.front().type, "T0007");
}

}  // namespace
}  // namespace clrscope::live
