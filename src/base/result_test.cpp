#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace clrscope {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return fail(Errc::kUsage, "{} is odd", number).hint("try {}", number + 1);
  return number / 2;
}

Result<int> quarter(int number) {
  const auto once = TRY(half(number));
  return TRY(half(once));
}

Result<> must_be_even(int number) {
  TRY(half(number));
  return {};
}

Result<std::string> even_text(int number) {
  TRY(must_be_even(number));
  return std::string{"even"};
}

Result<std::unique_ptr<int>> boxed(int number) { return std::make_unique<int>(TRY(half(number))); }

TEST(Result, HoldsAValue) {
  const auto result = half(8);
  ASSERT_TRUE(result);
  EXPECT_EQ(*result, 4);
}

TEST(Result, HoldsWhatFailedAndAHint) {
  const auto result = half(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUsage);
  EXPECT_EQ(result.error().what, "7 is odd");
  EXPECT_EQ(result.error().hint, "try 8");
}

TEST(Try, PassesTheErrorOfAnyStepOn) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).error().what, "3 is odd");
  EXPECT_EQ(quarter(5).error().hint, "try 6");
}

TEST(Try, TakesAResultOfNothing) {
  EXPECT_EQ(*even_text(2), "even");
  EXPECT_EQ(even_text(1).error().what, "1 is odd");
}

TEST(Try, MovesWhatCannotBeCopied) {
  const auto twice = [](int number) -> Result<int> {
    const auto box = TRY(boxed(number));
    return *box * 2;
  };
  EXPECT_EQ(*twice(10), 10);
  EXPECT_EQ(twice(3).error().code, Errc::kUsage);
}

TEST(Errno, BecomesACodeAndAText) {
  EXPECT_EQ(errc_of(EACCES), Errc::kDenied);
  EXPECT_EQ(errc_of(EPERM), Errc::kDenied);
  EXPECT_EQ(errc_of(ENOENT), Errc::kNotFound);
  EXPECT_EQ(errc_of(ESRCH), Errc::kNotFound);
  EXPECT_EQ(errc_of(ETIMEDOUT), Errc::kTimeout);
  EXPECT_EQ(errc_of(EIO), Errc::kSystem);
  EXPECT_EQ(errno_text(EACCES), "Permission denied");
  EXPECT_EQ(errno_text(123456), "error 123456");
}

TEST(CheckDeathTest, NamesThePlaceAndTheCondition) {
  const int two = 2;
  EXPECT_DEATH(CHECK(two == 3), "internal error: .*result_test.cpp:[0-9]+: two == 3 does not hold");
}

}  // namespace
}  // namespace clrscope
