#include "symbols/ready_to_run.h"
#include "base/test_data.h"

#include <gmock/gmock.h>

#include <cstring>

namespace clrscope {
namespace {

using testing::ElementsAre;
using Entry = IlMap::Entry;

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint32_t kHeader = 0x10, kArray = 0x80, kEntries = 0xa0, kFunctions = 0xc0;

// An image of one method whose code is function 0, as an older crossgen writes it.
class ReadyToRunTest : public testing::Test {
 protected:
  ReadyToRunTest() {
    put(kHeader, {0x52, 0x54, 0x52, 0x00, 9, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0});
    section(0, 105, kArray, 0x20);
    section(1, 103, kEntries, 0x10);
    section(2, 102, kFunctions, 24);
    // One element, one block at 1 from behind the head: a leaf of element 0, nothing shared, sizes
    // 5 and 0, then 0 from the prologue and 11 from IL 7.
    put(kArray, {8, 1, 0, 0, 0x05, 0x02, 0x11, 0x39, 0x29, 0x01});
    put(kEntries, {8, 1, 0, 0});  // of the method: function 0, nothing needed first
    put(kFunctions, {0x00, 0x10, 0, 0, 0x40, 0x10, 0, 0, 0, 0, 0, 0});
    put(kFunctions + 12, {0x80, 0x10, 0, 0, 0x90, 0x10, 0, 0, 0, 0, 0, 0});
  }
  void put(std::uint32_t at, std::initializer_list<std::uint8_t> bytes) {
    std::copy(bytes.begin(), bytes.end(), image_.begin() + at);
  }
  void section(std::uint32_t number, std::uint32_t type, std::uint32_t rva, std::uint32_t size) {
    const std::uint32_t fields[] = {type, rva, size};
    std::memcpy(image_.data() + kHeader + 16 + 12 * number, fields, sizeof fields);
  }
  std::optional<ReadyToRunTables> open() {
    return ReadyToRunTables::open(
        [this](std::uint64_t address, std::span<std::uint8_t> out) {
          if (address < kBase || address - kBase > image_.size() ||
              out.size() > image_.size() - (address - kBase))
            return false;
          std::memcpy(out.data(), image_.data() + (address - kBase), out.size());
          return true;
        },
        kBase + kHeader, kBase);
  }

  std::vector<std::uint8_t> image_ = std::vector<std::uint8_t>(1024);
};

TEST_F(ReadyToRunTest, MapsTheCodeOfAMethodToItsIl) {
  const auto tables = open();
  ASSERT_TRUE(tables);
  EXPECT_THAT(tables->il_map(0).entries(), ElementsAre(Entry{0, 0}, Entry{11, 7}));
  EXPECT_TRUE(tables->il_map(1).empty());
}

TEST_F(ReadyToRunTest, FindsAMethodsFirstFunctionByTokenAndByAddress) {
  const auto tables = open();
  ASSERT_TRUE(tables);
  EXPECT_EQ(tables->function_of_token(0x06000001), 0u);
  EXPECT_EQ(tables->function_of_token(0x06000002), std::nullopt);
  EXPECT_EQ(tables->function_of_token(0x0a000001), std::nullopt);
  EXPECT_EQ(tables->function_at(kBase + 0x1000), 0u);
  EXPECT_EQ(tables->function_at(kBase + 0x1080), 1u);
  EXPECT_EQ(tables->function_at(kBase + 0x1001), std::nullopt);  // in the middle of it
  EXPECT_EQ(tables->function_at(0x1000), std::nullopt);
}

TEST_F(ReadyToRunTest, FindsTheFunctionAroundAnAddress) {
  const auto tables = open();
  ASSERT_TRUE(tables);
  const auto around = tables->function_around(kBase + 0x103f);
  ASSERT_TRUE(around);
  EXPECT_EQ(around->number, 0u);
  EXPECT_EQ(around->start, kBase + 0x1000);
  EXPECT_EQ(around->end, kBase + 0x1040);
  EXPECT_EQ(tables->function_around(kBase + 0x108f)->number, 1u);
  EXPECT_FALSE(tables->function_around(kBase + 0xfff));
  EXPECT_FALSE(tables->function_around(kBase + 0x1040));  // between the two
  EXPECT_FALSE(tables->function_around(kBase + 0x1090));
  EXPECT_FALSE(tables->function_around(0x1000));
  EXPECT_TRUE(tables->has_il_map(0));
  EXPECT_FALSE(tables->has_il_map(1));
  EXPECT_EQ(tables->method_rows(), 1u);
}

TEST_F(ReadyToRunTest, SaysWhereCallsLeadThatAreNotBound) {
  EXPECT_EQ(open()->unbound_calls().start, open()->unbound_calls().end);
  image_[kHeader + 12] = 4;
  section(3, 106, 0x2000, 0x30);
  EXPECT_EQ(open()->unbound_calls().start, kBase + 0x2000);
  EXPECT_EQ(open()->unbound_calls().end, kBase + 0x2030);
}

TEST_F(ReadyToRunTest, SaysNothingOfWhatIsNoImageOrEndsEarly) {
  image_.resize(kFunctions + 2);
  const auto cut = open();
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->il_map(0).empty());
  EXPECT_EQ(cut->function_at(kBase + 0x1000), std::nullopt);
  image_[kHeader] = 0;
  EXPECT_FALSE(open());
}

TEST(ReadyToRunImage, RefusesAModuleOfIlAlone) {
  const auto image = ReadyToRunImage::open(test_data("fuzz/pdb/shop.dll"), {});
  EXPECT_FALSE(image);
}

}  // namespace
}  // namespace clrscope
