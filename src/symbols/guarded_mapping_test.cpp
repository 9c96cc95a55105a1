#include "symbols/guarded_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "symbols/native_file.h"

namespace clrscope {
namespace {

constexpr std::size_t kPageSize = 4096;

UniqueFd file_of_ones(std::size_t size) {
  UniqueFd fd{::memfd_create("ones", MFD_CLOEXEC)};
  const std::vector<std::uint8_t> ones(size, 1);
  CHECK(::write(fd.get(), ones.data(), size) == static_cast<ssize_t>(size));
  return fd;
}

std::size_t sum(Bytes bytes) { return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}); }

TEST(GuardedMapping, ReadsZerosWhereTheFileWasCutOff) {
  const auto fd = file_of_ones(10 * kPageSize);
  const auto mapping = GuardedMapping::of(fd.get(), 10 * kPageSize);
  ASSERT_TRUE(mapping);
  ASSERT_EQ(::ftruncate(fd.get(), 3 * kPageSize), 0);
  EXPECT_EQ(sum(mapping->bytes()), 3 * kPageSize);
  mapping->rest();
  EXPECT_EQ(sum(mapping->bytes()), 3 * kPageSize);
}

TEST(GuardedMapping, ReadsZerosInSeveralThreadsAtOnce) {
  const auto fd = file_of_ones(64 * kPageSize);
  const auto mapping = GuardedMapping::of(fd.get(), 64 * kPageSize);
  ASSERT_TRUE(mapping);
  ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
  std::vector<std::size_t> sums(4, 1);
  {
    std::vector<std::jthread> readers;
    for (auto& one : sums) readers.emplace_back([&] { one = sum(mapping->bytes()); });
  }
  EXPECT_EQ(sums, std::vector<std::size_t>(4, 0));
}

TEST(GuardedMapping, LeavesOtherAddressesAlone) {
  const auto fd = file_of_ones(kPageSize);
  const auto mapping = GuardedMapping::of(fd.get(), kPageSize);
  ASSERT_TRUE(mapping);
  auto* const other = static_cast<volatile std::uint8_t*>(
      ::mmap(nullptr, kPageSize, PROT_READ, MAP_PRIVATE, fd.get(), 0));
  ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
  EXPECT_DEATH((void)*other, "");
  ::munmap(const_cast<std::uint8_t*>(other), kPageSize);
}

TEST(NativeFile, OutlivesALargeFileThatIsCutShort) {
  constexpr std::size_t kLarge = 40 << 20;  // mapped, not copied
  const UniqueFd fd{::memfd_create("large", MFD_CLOEXEC)};
  ASSERT_EQ(::ftruncate(fd.get(), kLarge), 0);
  const auto file = NativeFile::open("/proc/self/fd/" + std::to_string(fd.get()));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(fd.get(), kPageSize), 0);
  EXPECT_EQ(file->bytes().size(), kLarge);
  EXPECT_EQ(file->bytes()[kLarge - 1], 0);
}

TEST(NativeFile, OutlivesAFileOfFewPagesThatIsCutShort) {
  const auto fd = file_of_ones(8 * kPageSize);
  const auto file = NativeFile::open_few_pages("/proc/self/fd/" + std::to_string(fd.get()));
  ASSERT_TRUE(file);
  ASSERT_EQ(::ftruncate(fd.get(), 0), 0);
  EXPECT_EQ(file->bytes()[7 * kPageSize], 0);
}

}  // namespace
}  // namespace clrscope
