#include "model/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope {
namespace {

using testing::ElementsAre;

TEST(Guid, IsWrittenAsDotNetWritesIt) {
  const Guid guid{{0x23, 0x0d, 0x3c, 0xe1, 0xbc, 0xcc, 0x12, 0x4e, 0x93, 0x1b, 0xd9, 0xcc, 0x2e,
                   0xee, 0x27, 0xe4}};
  EXPECT_EQ(to_string(guid), "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
  EXPECT_FALSE(guid.empty());
  EXPECT_TRUE(Guid{}.empty());
  EXPECT_EQ(to_string(Guid{}), "00000000-0000-0000-0000-000000000000");
}

TEST(StackView, ReadsAddressesAtAnyAlignment) {
  ByteWriter out;
  out.write(std::uint8_t{0xaa});
  out.write(std::uint64_t{0x7f0000001000});
  out.write(std::uint64_t{2});
  const StackView stack{out.bytes().subspan(1), 8};
  EXPECT_EQ(stack.size(), 2U);
  EXPECT_EQ(stack[0], 0x7f0000001000U);
  EXPECT_EQ(stack[1], 2U);
}

TEST(StackView, WidensAddressesOf32Bits) {
  ByteWriter out;
  out.write(std::uint32_t{0xfffff000});
  out.write(std::uint32_t{1});
  std::vector<std::uint64_t> addresses{9, 9, 9};
  StackView{out.bytes(), 4}.copy_to(addresses);
  EXPECT_THAT(addresses, ElementsAre(0xfffff000U, 1U));
}

TEST(StackView, IsEmptyUnlessGivenBytes) {
  EXPECT_TRUE(StackView{}.empty());
  EXPECT_EQ(StackView(as_bytes("abc"), 8).size(), 0U);  // less than one address
}

}  // namespace
}  // namespace clrscope
