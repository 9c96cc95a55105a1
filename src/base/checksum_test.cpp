#include "base/checksum.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(Crc32, IsTheOneOfTheStandardAndGoesOnWhereItStopped) {
  EXPECT_EQ(crc32_of(as_bytes("123456789")), 0xcbf43926U);
  EXPECT_EQ(crc32_of(as_bytes("6789"), crc32_of(as_bytes("12345"))), 0xcbf43926U);
  EXPECT_EQ(crc32_of({}), 0U);
}

}  // namespace
}  // namespace clrscope
