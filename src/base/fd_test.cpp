#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace clrscope {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
UniqueFd open_null() { return UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

TEST(UniqueFd, ClosesWhatItOwns) {
  int lent = -1;
  {
    const auto fd = open_null();
    lent = fd.get();
    ASSERT_TRUE(is_open(lent));
  }
  EXPECT_FALSE(is_open(lent));
}

TEST(UniqueFd, IsEmptyAfterAMove) {
  auto first = open_null();
  const int number = first.get();
  const UniqueFd second{std::move(first)};
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, ClosesTheOldOneWhenAnotherMovesIn) {
  auto kept = open_null();
  const int old = kept.get();
  kept = open_null();
  EXPECT_NE(kept.get(), old);
  EXPECT_FALSE(is_open(old));
  EXPECT_TRUE(is_open(kept.get()));
}

TEST(UniqueFd, LeavesAReleasedOneOpen) {
  auto fd = open_null();
  const UniqueFd released{fd.release()};
  fd.reset();
  EXPECT_TRUE(is_open(released.get()));
}

}  // namespace
}  // namespace clrscope
