#include "unwind/code_scan_x64.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace clrscope::unwind {
namespace {

using How = CallerPlace::How;
using Rbp = CallerPlace::Rbp;
using Code = std::vector<std::uint8_t>;

// Every instruction of libc's vector functions and others, as objdump divides them.
TEST(CodeScan, KnowsTheSizesThatObjdumpKnows) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(libc) || std::system("command -v objdump >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "libc or objdump is not here";
  std::FILE* pipe = ::popen(("LC_ALL=C objdump -d -j .text --insn-width=16 --start-address=0x140000"
                             " --stop-address=0x178000 " +
                             libc)
                                .c_str(),
                            "r");
  std::size_t compared = 0, different = 0;
  std::string first;
  char line[1024];
  while (std::fgets(line, sizeof line, pipe)) {
    const std::string text{line};
    const auto colon = text.find(":\t");
    const auto tab = text.find('\t', colon == std::string::npos ? 0 : colon + 2);
    if (colon == std::string::npos || tab == std::string::npos) continue;
    if (text.find("(bad)") != std::string::npos || text.find("data16") != std::string::npos)
      continue;
    Code code;
    const auto hex = text.substr(colon + 2, tab - colon - 2);
    for (std::size_t at = 0; at + 1 < hex.size() && hex[at] != ' '; at += 3)
      code.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
    const auto size = code.size();
    code.resize(32, 0x90);
    ++compared;
    if (instruction_size(code) == size) continue;
    if (++different == 1) first = fmt::format("{}: {} to us", text, instruction_size(code));
  }
  ::pclose(pipe);
  EXPECT_GT(compared, 10000u);
  EXPECT_EQ(different, 0u) << first;
}

TEST(CodeScan, ReadsThePrologueThatLiesAhead) {
  const auto place = scan_ahead(Code{0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x18,  // push; push; sub
                                     0x48, 0x8d, 0x6c, 0x24, 0x28});            // lea rbp
  EXPECT_EQ(place.how, How::kFound);
  EXPECT_EQ(place.rbp, Rbp::kAtOffset);
  EXPECT_EQ(place.rbp_offset, 0);
  EXPECT_EQ(place.return_offset, 8);
}

TEST(CodeScan, KeepsRbpThatIsNotPushedYet) {
  const auto place = scan_ahead(Code{0x55, 0x48, 0x8b, 0xec});  // push rbp; mov rbp, rsp
  EXPECT_EQ(place.how, How::kFound);
  EXPECT_EQ(place.rbp, Rbp::kSame);
  EXPECT_EQ(place.return_offset, 0);
}

TEST(CodeScan, ReadsTheEpilogueThatLiesAhead) {
  const auto place = scan_ahead(Code{0x48, 0x83, 0xc4, 0x20, 0x5b, 0x41, 0x5f, 0x5d, 0xc3});
  EXPECT_EQ(place.how, How::kFound);
  EXPECT_EQ(place.rbp_offset, 0x30);
  EXPECT_EQ(place.return_offset, 0x38);
}

TEST(CodeScan, LeavesItToRbpWhenRspComesFromIt) {
  EXPECT_EQ(scan_ahead(Code{0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x5d, 0xc3}).how, How::kUnknown);
  EXPECT_EQ(scan_ahead(Code{0xc9, 0xc3}).how, How::kUnknown);
}

TEST(CodeScan, FollowsAShortJumpAhead) {
  EXPECT_EQ(scan_ahead(Code{0xeb, 0x02, 0xcc, 0xcc, 0xc3}).how, How::kFound);
}

TEST(CodeScan, TakesAStubForAFunctionWithoutAFrame) {
  const auto place = scan_ahead(Code{0xff, 0x25, 0xfa, 0x3f, 0, 0});  // jmp [rip + n]
  EXPECT_EQ(place.how, How::kFound);
  EXPECT_EQ(place.return_offset, 0);
}

TEST(CodeScan, IsNotSureWhereTheCodeEnds) {
  EXPECT_EQ(scan_ahead(Code{0x48, 0x8b}).how, How::kUnknown);
  EXPECT_EQ(scan_ahead(Code{}).how, How::kUnknown);
}

TEST(CodeScan, TakesOnlyAWholeEpilogueForOne) {
  EXPECT_EQ(scan_epilogue(Code{0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3}).how, How::kFound);
  EXPECT_EQ(scan_epilogue(Code{0x31, 0xc0, 0x5d, 0xc3}).how, How::kUnknown);
  EXPECT_EQ(scan_epilogue(Code{0x5d, 0x90}).how, How::kUnknown);
}

}  // namespace
}  // namespace clrscope::unwind
