#include "inspect/headroom.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace clrscope::inspect {
namespace {

TEST(TwinPrice, OfThisProcessIsBounded) {
  const auto price = twin_price(::getpid());
  ASSERT_TRUE(price);
  EXPECT_GT(price->own, 0U);
  EXPECT_GT(price->needed, price->own / 4);
  EXPECT_GT(price->room, 0U);
  EXPECT_LT(price->least_pause, price->most_pause);
  EXPECT_FALSE(twin_price(1 << 30));
}

TEST(TwinPrice, ThatDoesNotFitIsRefused) {
  EXPECT_TRUE(check_headroom(1, {.needed = 100, .room = 100}));
  const auto refused = check_headroom(1, {.needed = 101, .room = 100});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
}

}  // namespace
}  // namespace clrscope::inspect
