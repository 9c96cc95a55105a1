#include "model/intern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace clrscope {
namespace {

using testing::ElementsAre;

TEST(StringTable, GivesOneIdToEqualStrings) {
  StringTable table;
  const auto first = table.intern("Shop.Orders");
  EXPECT_EQ(table.intern(std::string{"Shop."} + "Orders"), first);
  EXPECT_NE(table.intern("Shop.Order"), first);
  EXPECT_EQ(table.text(first), "Shop.Orders");
  EXPECT_EQ(table.size(), 3U);  // with the empty one
}

TEST(StringTable, KnowsTheEmptyStringFromTheStart) {
  StringTable table;
  EXPECT_EQ(table.intern(""), StringId::kEmpty);
  EXPECT_EQ(table.text(StringId::kEmpty), "");
}

TEST(StringTable, TellsZerosAtTheEndApart) {
  StringTable table;
  EXPECT_NE(table.intern(std::string_view{"a\0", 2}), table.intern("a"));
  EXPECT_EQ(table.text(table.intern(std::string_view{"a\0", 2})).size(), 2U);
}

TEST(StringTable, KeepsTextsInPlaceWhileItGrows) {
  StringTable table;
  const auto id = table.intern("x");  // short: would move with its string object
  const auto text = table.text(id);
  for (int i = 0; i < 100'000; ++i) table.intern(std::to_string(i));
  EXPECT_EQ(table.text(id).data(), text.data());
  EXPECT_EQ(table.size(), 100'002U);
  for (int i = 0; i < 100'000; ++i)
    ASSERT_EQ(table.text(table.intern(std::to_string(i))), std::to_string(i));
  EXPECT_EQ(table.size(), 100'002U);
}

TEST(StackTable, GivesOneIdToEqualStacks) {
  StackTable table;
  const std::uint64_t frames[] = {1, 2, 3};
  const auto id = table.intern(frames);
  EXPECT_EQ(table.intern(frames), id);
  EXPECT_NE(table.intern(std::span{frames}.first(2)), id);
  EXPECT_NE(table.intern(std::span{frames}.last(2)), id);
  EXPECT_THAT(table.frames(id), ElementsAre(1, 2, 3));
}

TEST(StackTable, KnowsTheEmptyStackFromTheStart) {
  StackTable table;
  EXPECT_EQ(table.intern({}), StackId::kNone);
  EXPECT_TRUE(table.frames(StackId::kNone).empty());
  EXPECT_EQ(table.size(), 1U);
}

TEST(StackTable, KeepsFramesInPlaceWhileItGrows) {
  StackTable table;
  const std::uint64_t frames[] = {7, 8};
  const auto first = table.frames(table.intern(frames));
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const std::uint64_t other[] = {i, i + 1, i + 2};
    table.intern(other);
  }
  EXPECT_THAT(first, ElementsAre(7, 8));
  EXPECT_EQ(table.frames(table.intern(frames)).data(), first.data());
}

TEST(StackTable, TakesAStackLongerThanItsChunk) {
  StackTable table;
  std::vector<std::uint64_t> frames(200'000);
  std::iota(frames.begin(), frames.end(), 0);
  const std::uint64_t small[] = {5};
  table.intern(small);
  const auto id = table.intern(frames);
  table.intern(std::span{frames}.first(9));
  EXPECT_TRUE(std::ranges::equal(table.frames(id), frames));
}

TEST(HashBytes, SpreadsNeighbours) {
  std::set<std::uint64_t> low_bits;
  for (std::uint64_t i = 0; i < 4096; ++i) low_bits.insert(hash_bytes(&i, sizeof i) & 0xfff);
  EXPECT_GT(low_bits.size(), 2300U);  // 4096 random values fill 63 % of 4096 places
}

TEST(HashIndex, KeepsEqualHashesApart) {
  HashIndex index;
  for (std::uint32_t id = 0; id < 1000; ++id) index.insert(42, id);
  for (std::uint32_t id = 0; id < 1000; ++id)
    ASSERT_EQ(index.find(42, [&](std::uint32_t known) { return known == id; }), id);
  EXPECT_EQ(index.find(42, [](std::uint32_t) { return false; }), HashIndex::kNone);
  EXPECT_EQ(index.find(43, [](std::uint32_t) { return true; }), HashIndex::kNone);
}

}  // namespace
}  // namespace clrscope
