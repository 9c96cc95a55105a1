#include "inspect/prologue_x64.h"

#include <gtest/gtest.h>

#include <vector>

namespace clrscope::inspect {
namespace {

TEST(Prologue, AddsUpWhatIsPushedAndTaken) {
  // push rbp; mov rbp, rsp; push r15; push r14; push rbx; sub rsp, 0x18
  const std::uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41,
                               0x56, 0x53, 0x48, 0x83, 0xec, 0x18};
  EXPECT_EQ(rbp_above_rsp(code), 3 * 8 + 0x18);
}

TEST(Prologue, KnowsALargeFrameAndAnEndbranch) {
  const std::uint8_t code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5,
                               0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00};
  EXPECT_EQ(rbp_above_rsp(code), 0x1000);
}

TEST(Prologue, IsUnknownWithoutRbp) {
  const std::uint8_t code[] = {0x41, 0x57, 0x48, 0x83, 0xec, 0x18};
  EXPECT_EQ(rbp_above_rsp(code), std::nullopt);
}

TEST(Prologue, IsUnknownWhenCutShort) {
  const std::vector<std::uint8_t> code{0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0x00};
  EXPECT_EQ(rbp_above_rsp(code), std::nullopt);
}

}  // namespace
}  // namespace clrscope::inspect
