#include "base/maps.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(MapsLine, HasEveryField) {
  const auto m = parse_maps_line(
      "7f12a000-7f12b000 r-xp 00001000 fd:1f 1234                       /usr/lib/a b.so (deleted)");
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->start, 0x7f12a000U);
  EXPECT_EQ(m->end, 0x7f12b000U);
  EXPECT_EQ(m->offset, 0x1000U);
  EXPECT_EQ(m->major, 0xfdU);
  EXPECT_EQ(m->minor, 0x1fU);
  EXPECT_EQ(m->inode, 1234U);
  EXPECT_TRUE(m->readable && m->executable && !m->writable && !m->shared);
  EXPECT_EQ(m->path, "/usr/lib/a b.so (deleted)");
}

TEST(MapsLine, MayHaveNoPath) {
  EXPECT_EQ(parse_maps_line("1000-2000 rw-s 00000000 00:00 0 ")->path, "");
  EXPECT_EQ(parse_maps_line("1000-2000 rw-s 00000000 00:00 0")->path, "");
  EXPECT_TRUE(parse_maps_line("1000-2000 rw-s 00000000 00:00 0")->shared);
}

TEST(MapsLine, IsNothingWhenBroken) {
  for (const auto* line :
       {"", "1000", "1000-", "2000-1000 r-xp 0 00:00 0", "1000-2000 r-x", "1000-2000 r-xp 0 0",
        "1000-2000 r-xp zz 00:00 0", "1000-2000 r-xp 0 00:00 x", "1000-2000 r-xp 0 00:00 "})
    EXPECT_FALSE(parse_maps_line(line).has_value()) << line;
}

TEST(MapsLine, EscapesNewlinesOnly) {
  EXPECT_EQ(unescaped_maps_path("/a\\012b\\012"), "/a\nb\n");
  EXPECT_EQ(unescaped_maps_path("/a\\01"), "/a\\01");
}

}  // namespace
}  // namespace clrscope
