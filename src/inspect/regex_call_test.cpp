#include "inspect/regex_call.h"

#include <gtest/gtest.h>

#include "inspect/fake_target.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kHeap = 0x10000, kStack = 0x7f0000;
constexpr std::uint64_t kRunner = kHeap + 0x100, kRegex = kHeap + 0x200, kPattern = kHeap + 0x300;
constexpr std::uint64_t kText = kHeap + 0x400;
constexpr std::uint64_t kRunnerTable = kHeap + 0x800, kRegexTable = kHeap + 0x900;
constexpr std::uint64_t kStringTable = kHeap + 0xa00;

class FindRegexCall : public testing::Test {
 protected:
  FindRegexCall() {
    target_.add_memory(kHeap, 0x1000);
    target_.add_memory(kStack, 0x1000);
    walker_ = *Walker::of(target_, nullptr);
    runtime_.types[kRunnerTable] = {
        .name = "System.Text.RegularExpressions.RegexInterpreter",
        .base_size = 64,
        .fields = {{.name = "runtext", .offset = 8}, {.name = "runregex", .offset = 16}}};
    runtime_.types[kRegexTable] = {.name = "System.Text.RegularExpressions.Regex",
                                   .base_size = 64,
                                   .fields = {{.name = "pattern", .offset = 8}}};
    runtime_.types[kStringTable] = {.name = "System.String", .base_size = 22, .component_size = 2};
    target_.put(kRunner, kRunnerTable);
    target_.put(kRunner + 8, kText);
    target_.put(kRunner + 16, kRegex);
    target_.put(kRegex, kRegexTable);
    target_.put(kRegex + 8, kPattern);
    put_string(kPattern, "^(a+)+$");
    put_string(kText, "aaaaaaaaaa!");
    thread_.frames = {
        {.sp = kStack,
         .method = "System.Text.RegularExpressions.RegexInterpreter.TryMatchAtCurrentPosition()"},
        {.sp = kStack + 0x100, .method = "System.Text.RegularExpressions.Regex.IsMatch(string)"},
        {.sp = kStack + 0x200, .method = "Shop.Names.IsName(string)"}};
    target_.put(kStack + 0x140, kRunner);
  }
  void put_string(std::uint64_t at, std::string_view text) {
    target_.put(at, kStringTable);
    target_.put(at + 8, static_cast<std::uint32_t>(text.size()));
    for (std::size_t i = 0; i < text.size(); ++i)
      target_.put(at + 12 + 2 * i, static_cast<std::uint16_t>(text[i]));
  }
  std::optional<RegexCall> find() {
    unwind::Registers registers;
    registers.set(unwind::kRsp, kStack);
    Objects objects{target_, runtime_, *walker_};
    return find_regex_call(thread_, walker_->read_stack(registers, 0x1000), objects);
  }

  FakeTarget target_;
  FakeRuntime runtime_;
  std::unique_ptr<Walker> walker_;
  ThreadView thread_;
};

TEST_F(FindRegexCall, TellsPatternAndText) {
  const auto call = find();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->pattern, "^(a+)+$");
  EXPECT_EQ(call->text, kText);
  EXPECT_EQ(call->length, 11u);
}

TEST_F(FindRegexCall, IsNothingOutsideOfAMatch) {
  thread_.frames.erase(thread_.frames.begin(), thread_.frames.begin() + 2);
  EXPECT_FALSE(find());
}

TEST_F(FindRegexCall, IsNothingWhereTheTextIsNoString) {
  target_.put(kRunner + 8, std::uint64_t{0});
  EXPECT_FALSE(find());
}

TEST_F(FindRegexCall, CutsAHugePatternShort) {
  target_.put(kPattern + 8, std::uint32_t{0x7fffffff});
  const auto call = find();
  ASSERT_TRUE(call);
  EXPECT_LE(call->pattern.size(), 210u);
}

}  // namespace
}  // namespace clrscope::inspect
