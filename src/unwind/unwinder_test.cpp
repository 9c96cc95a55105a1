#include "unwind/unwinder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace clrscope::unwind {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kStack = 0x7f0000000000;
constexpr std::uint64_t kJitCode = 0x10000;
constexpr std::uint64_t kNativeCode = 0x400000;

class FixedCode : public CodeBytes {
 public:
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    const auto found = code.find(address);
    if (found == code.end()) return read_page(address, out);
    const auto size = std::min(out.size(), found->second.size());
    std::copy_n(found->second.begin(), size, out.begin());
    return size;
  }
  std::map<std::uint64_t, std::vector<std::uint8_t>> code;   // read from their start
  std::map<std::uint64_t, std::vector<std::uint8_t>> pages;  // read anywhere

 private:
  std::size_t read_page(std::uint64_t address, std::span<std::uint8_t> out) {
    const auto after = pages.upper_bound(address);
    if (after == pages.begin()) return 0;
    const auto& [start, bytes] = *std::prev(after);
    const auto rest = Bytes{bytes}.subspan(std::min(address - start, bytes.size()));
    const auto size = std::min(out.size(), rest.size());
    std::copy_n(rest.begin(), size, out.begin());
    return size;
  }
};

class UnwinderTest : public testing::Test {
 protected:
  UnwinderTest() {
    registers_.set(kRip, kJitCode + 0x10);
    registers_.set(kRsp, kStack);
    registers_.set(kRbp, kStack + 0x20);
    space_.add({.start = kJitCode, .end = kJitCode + 0x1000, .kind = CodeKind::kJit});
  }
  void put(std::uint64_t offset, std::uint64_t value) { words_.at(offset / 8) = value; }
  std::vector<std::uint64_t> unwind(std::size_t most = 16) {
    std::vector<Frame> frames(most);
    Unwinder unwinder{space_, jit_, &code_};
    const Bytes bytes{reinterpret_cast<const std::uint8_t*>(words_.data()), words_.size() * 8};
    const auto unwound = unwinder.unwind(registers_, {kStack, bytes}, frames);
    stop_ = unwound.stop;
    std::vector<std::uint64_t> pcs;
    for (std::size_t i = 0; i < unwound.frames; ++i) pcs.push_back(frames[i].pc);
    return pcs;
  }

  Registers registers_;
  AddressSpace space_;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(64);
  FixedCode code_;
  const JitUnwindInfo* jit_ = nullptr;
  Stop stop_{};
};

TEST_F(UnwinderTest, FollowsRbpThroughJittedCode) {
  put(0x20, kStack + 0x40);
  put(0x28, kJitCode + 0x100);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x100));
  EXPECT_EQ(stop_, Stop::kRoot);  // a return address of zero
}

TEST_F(UnwinderTest, TakesTheTopOfTheStackBeforeTheFrameIsBuilt) {
  code_.code[kJitCode + 0x10] = {0x55, 0x41, 0x57, 0x48, 0x83, 0xec, 0x18,
                                 0x48, 0x8d, 0x6c, 0x24, 0x20};  // push rbp; push r15; sub; lea rbp
  put(0x00, kJitCode + 0x200);
  put(0x28, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, FindsThePushedRbpInTheMiddleOfAPrologue) {
  code_.code[kJitCode + 0x10] = {0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x6c, 0x24, 0x20};
  put(0x00, 1);              // r15
  put(0x08, kStack + 0x30);  // rbp
  put(0x10, kJitCode + 0x200);
  put(0x38, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, FindsTheReturnAddressInAnEpilogue) {
  code_.code[kJitCode + 0x10] = {0x5b, 0x5d, 0xc3};  // pop rbx; pop rbp; ret
  put(0x08, kStack + 0x30);
  put(0x10, kJitCode + 0x200);
  put(0x38, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, FindsTheCallerOfALeafWithoutAFrame) {
  code_.code[kJitCode + 0x10] = {0x48, 0x89, 0x37, 0x48, 0xc1, 0xef, 0x0b, 0x72, 0x05, 0xc3};
  put(0x00, kJitCode + 0x200);
  put(0x28, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, StaysWithRbpWhenACallLiesAhead) {
  code_.code[kJitCode + 0x10] = {0xe8, 0, 0, 0, 0, 0xc3};
  put(0x00, kJitCode + 0x200);
  put(0x28, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x300));
}

// As measured: [rbp] is the caller's rbp already, and above it lies an address in the old code.
class OsrTest : public UnwinderTest {
 protected:
  OsrTest() {
    put(0x20, kStack + 0x100);
    put(0x28, kHandOver);
    put(0x40, kStack + 0x100);  // left over from an earlier call, as is the next: no frame
    put(0x48, kJitCode + 0x900);
    put(0x70, kStack + 0x100);  // 0x40 above the new frame: what the old prologue pushed
    put(0x78, kCaller);
    put(0xb0, kStack + 0x100);  // left over, in the caller's frame
    put(0xb8, kJitCode + 0xa00);
    put(0x108, kJitCode + 0x700);                      // the caller's caller
    code_.code[kJitCode + 0x10] = {0xe8, 0, 0, 0, 0};  // a call lies ahead: rbp counts
    clear();
    prologue(kJitCode + 0x400, 0x40);
  }
  void clear() { code_.pages[kJitCode] = std::vector<std::uint8_t>(0x1000, 0x90); }
  void prologue(std::uint64_t at, std::uint8_t size) {
    const std::vector<std::uint8_t> code{0x48, 0x8d, 0xac, 0x24, size, 0, 0, 0};
    std::ranges::copy(code, code_.pages[kJitCode].begin() + static_cast<long>(at - kJitCode));
  }
  static constexpr auto kHandOver = kJitCode + 0x800;
  static constexpr auto kCaller = kJitCode + 0x600;
};

TEST_F(OsrTest, FindsTheCallerOfAMethodThatWasReplacedOnTheStack) {
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kCaller, kJitCode + 0x700));
}

TEST_F(OsrTest, FindsItBelowMoreCodeThanOneReadBrings) {
  clear();
  prologue(kJitCode + 0x100, 0x40);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kCaller, kJitCode + 0x700));
}

TEST_F(OsrTest, ReadsThePrologueOfASmallFrame) {
  std::ranges::copy(std::vector<std::uint8_t>{0x48, 0x8d, 0x6c, 0x24, 0x40},
                    code_.pages[kJitCode].begin() + 0x500);
  prologue(kJitCode + 0x400, 0x18);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kCaller, kJitCode + 0x700));
}

TEST_F(OsrTest, LeavesAnOrdinaryFrameAlone) {
  prologue(kJitCode + 0x500, 0xd0);  // the frame at 0x100 is that of the method at kHandOver
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kHandOver, kJitCode + 0x700));
}

TEST_F(OsrTest, LeavesAFrameAloneWhoseCodeCannotBeRead) {
  code_.pages.clear();
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kHandOver, kJitCode + 0x700));
}

TEST_F(UnwinderTest, SaysThatTheCopyWasTooShort) {
  registers_.set(kRbp, kStack + 0x10000);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10));
  EXPECT_EQ(stop_, Stop::kNoMemory);
}

TEST_F(UnwinderTest, SaysThatAReturnAddressPointsToNoCode) {
  put(0x28, 0xdead);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10));
  EXPECT_EQ(stop_, Stop::kBadAddress);
}

TEST_F(UnwinderTest, EndsAChainThatGoesBack) {
  put(0x20, kStack + 0x20);
  put(0x28, kJitCode + 0x100);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x100));
  EXPECT_EQ(stop_, Stop::kLoop);
}

TEST_F(UnwinderTest, EndsCompleteWhereRbpIsZero) {
  put(0x20, 0);
  put(0x28, kJitCode + 0x100);
  put(0x30, 0xdead);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x100));
  EXPECT_EQ(stop_, Stop::kRoot);
}

TEST_F(UnwinderTest, EndsWhenThereIsNoRoomForMoreFrames) {
  put(0x20, kStack + 0x40);
  put(0x28, kJitCode + 0x100);
  EXPECT_THAT(unwind(1), ElementsAre(kJitCode + 0x10));
  EXPECT_EQ(stop_, Stop::kTooDeep);
}

TEST_F(UnwinderTest, FollowsATableAndKeepsRbpForJittedCallers) {
  UnwindTableBuilder builder{0x100};
  UnwindRule rule{.cfa = UnwindRule::Cfa::kRegPlus, .cfa_register = kRsp, .cfa_offset = 24};
  rule.of(kRip) = {Saved::kAtCfa, -8};
  rule.of(kRbp) = {Saved::kAtCfa, -16};
  ASSERT_TRUE(builder.begin_function(0x100, 0x200));
  builder.add(0x100, rule);
  const LazyTable lazy{std::move(builder).take()};
  space_.add({.start = kNativeCode,
              .end = kNativeCode + 0x1000,
              .bias = kNativeCode,
              .kind = CodeKind::kElf,
              .table = &lazy});
  registers_.set(kRip, kNativeCode + 0x150);
  put(0x08, kStack + 0x30);
  put(0x10, kJitCode + 0x200);
  put(0x38, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kNativeCode + 0x150, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, KeepsARegisterWhoseSavedCopyIsPoppedAlready) {
  UnwindTableBuilder builder{0};
  UnwindRule rule{.cfa = UnwindRule::Cfa::kRegPlus, .cfa_register = kRsp, .cfa_offset = 8};
  rule.of(kRip) = {Saved::kAtCfa, -8};
  rule.of(kRbp) = {Saved::kAtCfa, -16};  // below rsp: at the ret after pop rbp
  ASSERT_TRUE(builder.begin_function(0, 0x200));
  builder.add(0, rule);
  const LazyTable lazy{std::move(builder).take()};
  space_.add({.start = kNativeCode,
              .end = kNativeCode + 0x1000,
              .bias = kNativeCode,
              .kind = CodeKind::kElf,
              .table = &lazy});
  registers_.set(kRip, kNativeCode + 0x150);
  put(0x00, kJitCode + 0x200);
  put(0x28, kJitCode + 0x300);
  EXPECT_THAT(unwind(), ElementsAre(kNativeCode + 0x150, kJitCode + 0x200, kJitCode + 0x300));
}

TEST_F(UnwinderTest, EndsAtARuleWithoutAReturnAddress) {
  UnwindTableBuilder builder{0};
  UnwindRule rule{.cfa = UnwindRule::Cfa::kRegPlus, .cfa_register = kRsp, .cfa_offset = 8};
  rule.of(kRip) = {Saved::kUndefined, 0};
  ASSERT_TRUE(builder.begin_function(0, 0x200));
  builder.add(0, rule);
  const LazyTable lazy{std::move(builder).take()};
  space_.add({.start = kNativeCode,
              .end = kNativeCode + 0x1000,
              .bias = kNativeCode,
              .kind = CodeKind::kElf,
              .table = &lazy});
  registers_.set(kRip, kNativeCode + 0x150);
  EXPECT_THAT(unwind(), ElementsAre(kNativeCode + 0x150));
  EXPECT_EQ(stop_, Stop::kRoot);
}

class OneRule : public JitUnwindInfo {
 public:
  bool find(std::uint64_t, UnwindRule& rule) const override {
    rule = UnwindRule{.cfa = UnwindRule::Cfa::kRegPlus, .cfa_register = kRsp, .cfa_offset = 16};
    rule.of(kRip) = {Saved::kAtCfa, -8};
    return true;
  }
};

TEST_F(UnwinderTest, PrefersWhatTheRuntimeSaysOfJittedCode) {
  const OneRule rule;
  jit_ = &rule;
  put(0x08, kJitCode + 0x200);
  put(0x18, kJitCode + 0x300);
  put(0x20, 0);
  EXPECT_THAT(unwind(), ElementsAre(kJitCode + 0x10, kJitCode + 0x200, kJitCode + 0x300));
}

TEST(AddressSpace, LetsALaterRangeReplacePartOfAnEarlierOne) {
  AddressSpace space;
  space.add({.start = 0x1000, .end = 0x4000, .kind = CodeKind::kJit});
  space.add({.start = 0x2000, .end = 0x3000, .kind = CodeKind::kElf});
  EXPECT_EQ(space.find(0x1fff)->kind, CodeKind::kJit);
  EXPECT_EQ(space.find(0x2000)->kind, CodeKind::kElf);
  EXPECT_EQ(space.find(0x3000)->kind, CodeKind::kJit);
  EXPECT_EQ(space.find(0x4000), nullptr);
}

}  // namespace
}  // namespace clrscope::unwind
