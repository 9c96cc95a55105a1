#include "symbols/debug_info.h"

#include <gmock/gmock.h>

namespace clrscope {
namespace {

using testing::ElementsAre;
using Entry = IlMap::Entry;

// As .NET 10 left them in memory; the maps are those of its events for the same methods.
const std::vector<std::uint8_t> kGetIsSet{0x00, 0x35, 0x33, 0x01, 0x42,
                                          0xc2, 0x36, 0x01, 0x41, 0x70};
const std::vector<std::uint8_t> kDispose{0x00, 0x09, 0x07, 0x54, 0x03, 0x02, 0xe1, 0x32, 0x92,
                                         0xea, 0x00, 0x02, 0x39, 0x04, 0x97, 0xc3, 0x44, 0x30};

TEST(DebugInfo, MapsJittedCodeToIl) {
  // Prologue at 0, IL 0 at 0, epilogue at 13.
  EXPECT_THAT(il_map_of_jitted(kGetIsSet).entries(), ElementsAre(Entry{0, 0}, Entry{0, 0}));
  // Prologue at 0, IL 0 at 11, IL 7 at 47, epilogue at 50.
  const auto map = il_map_of_jitted(kDispose);
  EXPECT_THAT(map.entries(), ElementsAre(Entry{0, 0}, Entry{11, 0}, Entry{47, 7}));
  EXPECT_EQ(map.il_offset(46), 0u);
  EXPECT_EQ(map.il_offset(49), 7u);
}

TEST(DebugInfo, PassesOverWhatAPatchpointNeeds) {
  std::vector<std::uint8_t> bytes(1 + 40 + 2 * 4);
  bytes[0] = 1;   // there is one
  bytes[17] = 2;  // locals
  bytes.insert(bytes.end(), kDispose.begin() + 1, kDispose.end());
  EXPECT_EQ(il_map_of_jitted(bytes).entries().size(), 3u);
}

TEST(DebugInfo, ReadsTheNibblesOfOlderImages) {
  // Sizes 5 and 0; two places: 0 from the prologue (1), 11 from IL 7 (10), both of kind 1.
  const std::vector<std::uint8_t> bytes{0x05, 0x02, 0x11, 0x39, 0x29, 0x01};
  EXPECT_THAT(il_map_of_ready_to_run(bytes, BoundsCoding::kNibbles).entries(),
              ElementsAre(Entry{0, 0}, Entry{11, 7}));
  for (std::size_t size = 0; size < 6; ++size)
    EXPECT_TRUE(il_map_of_ready_to_run(Bytes{bytes}.first(size), BoundsCoding::kNibbles).empty())
        << size;
}

TEST(DebugInfo, IsEmptyWhenItMakesNoSense) {
  EXPECT_TRUE(il_map_of_jitted({}).empty());
  auto flagged = kDispose;
  flagged[0] = 4;
  EXPECT_TRUE(il_map_of_jitted(flagged).empty());
  for (std::size_t size = 0; size < 10; ++size)
    EXPECT_TRUE(il_map_of_jitted(Bytes{kDispose}.first(size)).empty()) << size;
  std::vector<std::uint8_t> many(64, 0xff);
  many[0] = 0;
  EXPECT_TRUE(il_map_of_jitted(many).empty());
}

}  // namespace
}  // namespace clrscope
