#include "inspect/contract/locks.h"

#include <gtest/gtest.h>

#include <array>

#include "inspect/fake_target.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kDescriptor =
    R"({"version":0,"baseline":"empty","types":{"SyncTableEntry":{"!":16,"SyncBlock":0}},)"
    R"("globals":{"SyncTableEntries":[[1],"pointer"],)"
    R"("SyncBlockValueToObjectOffset":["0x4","uint16"]},"contracts":{}})";
constexpr std::uint64_t kVariable = 0x10000, kTable = 0x20000, kBlocks = 0x30000, kHeap = 0x40000;
constexpr std::uint64_t kNowhere = 0x90000;  // memory that the core has not
constexpr std::array<std::uint64_t, 2> kPointers{0, kVariable};
constexpr std::uint32_t kHasEntry = 1 << 27;

class LocksTest : public testing::Test {
 protected:
  LocksTest() {
    for (const auto start : {kVariable, kTable, kBlocks}) core_.add_memory(start, 4096);
    core_.add_memory(kHeap, 16384);
    core_.put(kVariable, kTable);
  }

  static std::uint64_t object(std::uint32_t index) { return kHeap + 16 + index * 32; }
  static std::uint64_t block(std::uint32_t index) { return kBlocks + index * 32; }

  void entry(std::uint32_t index, std::uint64_t block, std::uint64_t object) {
    core_.put(kTable + index * 16, block);
    core_.put(kTable + index * 16 + 8, object);
  }
  void held(std::uint32_t index) {
    entry(index, block(index), object(index));
    core_.put<std::uint32_t>(object(index) - 4, kHasEntry | index);
    core_.put<std::uint32_t>(block(index), 1);
  }

  SyncBlocks list() {
    Memory memory{core_};
    const auto descriptor = Descriptor::parse(kDescriptor, kPointers);
    EXPECT_TRUE(descriptor);
    auto locks = Locks::open(memory, *descriptor);
    EXPECT_TRUE(locks);
    auto found = locks->list({});
    EXPECT_TRUE(found);
    return *std::move(found);
  }

  FakeTarget core_;
};

TEST_F(LocksTest, OfAWholeTableAreAllKnown) {
  held(1);
  held(2);
  const auto found = list();
  ASSERT_EQ(found.known.size(), 2U);
  EXPECT_TRUE(found.known[0].held);
  EXPECT_EQ(found.unread, 0U);
  EXPECT_FALSE(found.cut);
}

TEST_F(LocksTest, ThatCannotBeReadAreCounted) {
  held(1);
  entry(2, block(2), kNowhere);  // the object is not there
  held(3);
  entry(3, kNowhere, object(3));  // the lock is not there
  entry(4, 0, (5 << 1) | 1);      // free
  held(5);
  entry(6, block(6), kNowhere);
  const auto found = list();
  EXPECT_EQ(found.known.size(), 2U);
  EXPECT_EQ(found.unread, 3U);
  EXPECT_FALSE(found.cut);
}

TEST_F(LocksTest, WithoutAnyObjectAreCountedAll) {
  for (std::uint32_t index = 1; index <= 200; ++index) entry(index, block(index), kNowhere);
  const auto found = list();
  EXPECT_TRUE(found.known.empty());
  EXPECT_EQ(found.unread, 200U);
}

// A table that is full ends without a mark: what lies behind it is something else.
TEST_F(LocksTest, EndWhereTheTableDoes) {
  held(1);
  for (std::uint32_t index = 2; index <= 200; ++index)
    entry(index, 0x4141414141414141, index % 2 == 0 ? kNowhere : 0x4242424242424242);
  const auto found = list();
  EXPECT_EQ(found.known.size(), 1U);
  EXPECT_EQ(found.unread, 0U);
}

TEST_F(LocksTest, OfATableThatBreaksOffAreSaidToBeMore) {
  for (std::uint32_t index = 1; index < 4096 / 16; ++index) {
    entry(index, block(1), object(index));
    core_.put<std::uint32_t>(object(index) - 4, kHasEntry | index);
  }
  const auto found = list();
  EXPECT_TRUE(found.cut);
}

}  // namespace
}  // namespace clrscope::inspect
