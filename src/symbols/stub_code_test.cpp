#include "symbols/stub_code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace clrscope {
namespace {

constexpr std::uint64_t kStart = 0x7f088f0f8000;

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += hex[i] == ' ' ? 1 : 2)
    if (hex[i] != ' ')
      bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string name_at(const std::vector<std::uint8_t>& code, std::uint64_t offset) {
  const auto stub = stub_at(code, kStart + 0x800, kStart + 0x800 + offset);
  return stub ? std::string{stub->name} : "";
}

// As they lay in the memory of .NET 8, 9 and 10.
TEST(StubCode, KnowsTheKindsByTheirInstructions) {
  const auto entry =
      bytes_of("ff 25 fa 3f 00 00 4c 8b 15 fb 3f 00 00 ff 25 fd 3f 00 00 90 48 8b 05 f9");
  EXPECT_EQ(name_at(entry, 0), "[stub: method entry]");
  EXPECT_EQ(name_at(entry, 13), "[stub: method entry]");
  const auto counting =
      bytes_of("48 8b 05 f9 3f 00 00 66 ff 08 74 06 ff 25 f6 3f 00 00 ff 25 f8 3f 00 00");
  EXPECT_EQ(name_at(counting, 10), "[stub: call counting]");
  const auto dispatch = bytes_of(
      "48 b8 a0 cb a8 e7 da 7f 00 00 48 39 07 90 48 b8 f8 b4 cd e7 da 7f 00 00 0f 85 77 fe ff ff "
      "ff e0");
  EXPECT_EQ(name_at(dispatch, 30), "[stub: interface call]");
  const auto shuffle =
      bytes_of("48 8b c4 49 89 fb 4d 8b 53 20 49 83 c3 20 49 ff e2 ff ff 00 00 00 00 00");
  EXPECT_EQ(name_at(shuffle, 0), "[stub: delegate]");
  const auto of_seven = bytes_of(
      "48 8b c4 49 89 fb 48 89 f7 48 89 d6 48 89 ca 4c 89 c1 4d 89 c8 4c 8b 48 08 4c 8b 50 10 4c "
      "89 50 08 4d 8b 53 20 49 83 c3 20 41 ff e2 01 80 00 80 02 80 01 80 03 80 02 80");
  EXPECT_EQ(name_at(of_seven, 0), "[stub: delegate]");
  EXPECT_EQ(name_at(of_seven, 41), "[stub: delegate]");
  EXPECT_EQ(name_at(of_seven, 44), "");  // what the runtime notes behind it
  const auto virtual_calls = bytes_of(
      "48 8b 07 48 8b 40 40 ff 60 38 07 00 00 00 00 00 48 8b 07 48 8b 80 b0 00 00 00 ff 60 20 74 "
      "00 00");
  EXPECT_EQ(name_at(virtual_calls, 3), "[stub: virtual call]");
  EXPECT_EQ(name_at(virtual_calls, 10), "");
  EXPECT_EQ(name_at(virtual_calls, 26), "[stub: virtual call]");
  const auto constant = bytes_of("48 b8 28 4d 56 8e 08 7f 00 00 c3 cc cc cc cc cc");
  EXPECT_EQ(name_at(constant, 10), "[stub: lookup]");
  const auto of_two = bytes_of(
      "48 bf 28 4d b4 7e 1e 7f 00 00 48 be ca 02 00 00 00 00 00 00 e9 47 e9 51 7e cc cc cc");
  EXPECT_EQ(name_at(of_two, 10), "[stub: lookup]");
  EXPECT_EQ(name_at(of_two, 25), "");
  const auto dictionary = bytes_of(
      "48 8b 47 30 48 8b 40 00 48 8b 40 18 48 85 c0 74 01 c3 48 be 80 cb 40 9c e2 7f 00 00 e9 1f "
      "b8 52 7e cc cc cc");
  EXPECT_EQ(name_at(dictionary, 4), "[stub: lookup]");
}

TEST(StubCode, SaysWhereTheStubBeginsAndEnds) {
  auto two = bytes_of("48 8b 05 f9 3f 00 00 66 ff 08 74 06 ff 25 f6 3f 00 00 ff 25 f8 3f 00 00");
  two.insert(two.end(), two.begin(), two.begin() + 24);
  const auto stub = stub_at(two, kStart, kStart + 30);
  ASSERT_TRUE(stub);
  EXPECT_EQ(stub->start, kStart + 24);
  EXPECT_EQ(stub->end, kStart + 48);
}

TEST(StubCode, FindsTheWriteBarriersAtTheStartOfAPage) {
  const auto barrier = bytes_of(
      "48 89 37 c3 90 66 2e 0f 1f 84 00 00 00 00 00 66 90 48 89 37 49 89 f8 48 b8 60 ce 53 f5 c7 "
      "7e 00 00 48 c1 ef 16 80 3c 07 00 75 04 f3 c3 66 90 49 b9 00 00 00 78 c8 7e 00 00");
  const auto stub = stub_at(barrier, kStart, kStart + 40);
  ASSERT_TRUE(stub);
  EXPECT_EQ(stub->name, "[stub: write barrier]");
}

TEST(StubCode, SaysNothingOfMethodsAndOfPiecesCutShort) {
  // push rbp; mov rbp, rsp; mov rax, …; call rax; pop rbp; ret
  const auto method = bytes_of("55 48 8b ec 48 b8 60 ce 53 f5 c7 7e 00 00 ff d0 5d c3 cc cc");
  for (std::size_t i = 0; i < method.size(); ++i) EXPECT_EQ(name_at(method, i), "") << i;
  const auto counting =
      bytes_of("48 8b 05 f9 3f 00 00 66 ff 08 74 06 ff 25 f6 3f 00 00 ff 25 f8 3f 00 00");
  for (std::size_t size = 0; size < counting.size(); ++size)
    EXPECT_FALSE(stub_at(Bytes{counting}.first(size), kStart + 0x800, kStart + 0x800)) << size;
  EXPECT_FALSE(stub_at({}, kStart, kStart));
  EXPECT_FALSE(stub_at(counting, kStart + 0x800, kStart));
}

}  // namespace
}  // namespace clrscope
