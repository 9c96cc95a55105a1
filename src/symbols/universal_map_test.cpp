#include "symbols/universal_map.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TraceTime at(int ns) { return TraceTime{std::chrono::nanoseconds{ns}}; }

TEST(UniversalMap, KnowsTheFileAndTheSymbolOfAnAddress) {
  UniversalMap map;
  map.mapping(1, 0x1000, 0x2000, "/lib/libc.so.6", at(0));
  map.symbol(1, 0x1100, 0x11ff, "memcpy");
  map.symbol(1, 0x1000, 0x10ff, "strlen");
  EXPECT_EQ(map.find(0x1100, at(1)).symbol, "memcpy");
  EXPECT_EQ(map.find(0x10ff, at(1)).symbol, "strlen");
  EXPECT_EQ(map.find(0x1200, at(1)).symbol, "");
  EXPECT_EQ(map.find(0x1200, at(1)).path, "/lib/libc.so.6");
  EXPECT_FALSE(map.find(0x2000, at(1)).mapped);
  EXPECT_FALSE(map.find(0x0fff, at(1)).mapped);
}

TEST(UniversalMap, TellsApartWhatTookTheSamePlaceInTurn) {
  UniversalMap map;
  map.mapping(1, 0x1000, 0x3000, "/lib/old.so", at(10));
  map.mapping(2, 0x2000, 0x4000, "/lib/new.so", at(20));
  map.symbol(1, 0x2000, 0x2fff, "old");
  map.symbol(2, 0x2000, 0x2fff, "new");
  EXPECT_EQ(map.find(0x2800, at(15)).symbol, "old");
  EXPECT_EQ(map.find(0x2800, at(25)).symbol, "new");
  EXPECT_EQ(map.find(0x2800, at(5)).symbol, "old") << "before both: the first";
  EXPECT_FALSE(map.find(0x2800, at(5)).always);
  EXPECT_EQ(map.find(0x1800, at(25)).path, "/lib/old.so");
  EXPECT_TRUE(map.find(0x1800, at(25)).always);
}

TEST(UniversalMap, TakesASymbolBeforeItsMapping) {
  UniversalMap map;
  map.symbol(7, 0x1000, 0x1fff, "early");
  map.mapping(7, 0x1000, 0x2000, "/lib/a.so", at(0));
  EXPECT_EQ(map.find(0x1000, at(0)).symbol, "early");
}

TEST(UniversalMap, RefusesRangesThatEndBeforeTheyBegin) {
  UniversalMap map;
  map.mapping(1, 0x2000, 0x1000, "/lib/a.so", at(0));
  map.symbol(0, 0x2000, 0x1fff, "backwards");
  EXPECT_FALSE(map.find(0x1800, at(0)).mapped);
  EXPECT_EQ(map.find(0x2000, at(0)).symbol, "");
}

}  // namespace
}  // namespace clrscope
