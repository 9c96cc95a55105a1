#include "symbols/file_pieces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"

namespace clrscope {
namespace {

// Nameless, of as many x.
UniqueFd file_of(std::size_t size) {
  auto path = testing::TempDir() + "/file_pieces_test.XXXXXX";
  UniqueFd fd{::mkstemp(path.data())};
  ::unlink(path.c_str());
  const std::string text(size, 'x');
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(size));
  return fd;
}

TEST(FilePieces, HaveWhatWasNeededAndZerosElsewhere) {
  const auto fd = file_of(20'000);
  auto file = FilePieces::of(fd.get(), 20'000);
  ASSERT_TRUE(file);
  file->need(5000, 10);
  EXPECT_EQ(file->bytes()[5000], 'x');
  EXPECT_EQ(file->bytes()[5009], 'x');
  EXPECT_EQ(file->bytes()[0], 0);
  EXPECT_EQ(file->bytes()[19'999], 0);
  file->need(file->bytes().last(1));
  EXPECT_EQ(file->bytes()[19'999], 'x');
  EXPECT_EQ(file->bytes()[0], 0);
}

TEST(FilePieces, ReadAPageOnce) {
  const auto fd = file_of(10'000);
  auto file = FilePieces::of(fd.get(), 10'000);
  ASSERT_TRUE(file);
  file->need(0, 1);
  ASSERT_EQ(::pwrite(fd.get(), "y", 1, 0), 1);
  ASSERT_EQ(::pwrite(fd.get(), "y", 1, 5000), 1);
  file->need(0, 10'000);
  EXPECT_EQ(file->bytes()[0], 'x');
  EXPECT_EQ(file->bytes()[5000], 'y');
}

TEST(FilePieces, OfAFileThatWasCutShortAreZeros) {
  const auto fd = file_of(10'000);
  auto file = FilePieces::of(fd.get(), 10'000);
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(fd.get(), 100), 0);
  file->need(0, 10'000);
  EXPECT_EQ(file->bytes()[99], 'x');
  EXPECT_EQ(file->bytes()[100], 0);
  EXPECT_EQ(file->bytes()[9999], 0);
}

TEST(FilePieces, LieWithinTheFileWhateverIsNeeded) {
  const auto fd = file_of(5000);
  auto file = FilePieces::of(fd.get(), 5000);
  ASSERT_TRUE(file);
  file->need(5000, 1);
  file->need(~std::uint64_t{0}, 10);
  file->need(4999, ~std::uint64_t{0});
  EXPECT_EQ(file->bytes()[4999], 'x');
  EXPECT_FALSE(FilePieces::of(fd.get(), 0));
  EXPECT_FALSE(FilePieces::of(fd.get(), FilePieces::kLargestFile + 1));
}

}  // namespace
}  // namespace clrscope
