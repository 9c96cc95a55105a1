#include "ops/trace_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace clrscope::ops {
namespace {

using testing::HasSubstr;

class TraceBytesTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = (std::filesystem::temp_directory_path() / "bytesXXXXXX").string();
    ASSERT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder;
    path_ = folder_ + "/a.nettrace";
    std::ofstream{path_, std::ios::binary} << std::string(3 << 20, 'x');
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<> read(const TraceLimits& limits) {
    return read_trace_bytes(
        path_, [](Bytes) -> Result<> { return {}; }, {}, limits);
  }

  std::string folder_, path_;
};

TEST_F(TraceBytesTest, ReadsAllWithoutLimits) { EXPECT_TRUE(read({})); }

TEST_F(TraceBytesTest, EndsAtTheLimitOfCpuTimeAndNamesIt) {
  const auto done = read({.cpu = std::chrono::nanoseconds{1}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTooLarge);
  EXPECT_THAT(done.error().hint, HasSubstr("CPU time"));
}

TEST_F(TraceBytesTest, EndsAtTheLimitOfBytesAndNamesIt) {
  const auto done = read({.bytes = 2 << 20});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTooLarge);
  EXPECT_THAT(done.error().hint, HasSubstr("expanded bytes"));
}

TEST_F(TraceBytesTest, EndsWhenNobodyWaitsForIt) {
  const auto done = read({.gone = [] { return true; }});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kGone);
}

}  // namespace
}  // namespace clrscope::ops
