#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace clrscope {
namespace {

namespace fs = std::filesystem;

class Cgroup : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cgroupXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    mount_ = pattern;
  }
  void TearDown() override { fs::remove_all(mount_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path{mount_ + path}.parent_path());
    std::ofstream{mount_ + path} << text;
  }
  std::string mount_;
};

TEST_F(Cgroup, ReadsTheLimitsOfVersionTwo) {
  write("/pods/shop/memory.max", "536870912\n");
  write("/pods/shop/cpu.max", "150000 100000\n");
  const auto limits = cgroup_limits("0::/pods/shop\n", mount_);
  EXPECT_EQ(limits.memory_bytes, 536870912U);
  EXPECT_EQ(limits.processors, 1.5);
}

TEST_F(Cgroup, TakesTheSmallestLimitOfTheGroupsAbove) {
  write("/pods/memory.max", "1000\n");
  write("/pods/cpu.max", "max 100000\n");
  write("/pods/shop/memory.max", "max\n");
  write("/pods/shop/cpu.max", "200000 100000\n");
  const auto limits = cgroup_limits("0::/pods/shop\n", mount_);
  EXPECT_EQ(limits.memory_bytes, 1000U);
  EXPECT_EQ(limits.processors, 2);
}

TEST_F(Cgroup, ReadsTheLimitsOfVersionOne) {
  write("/memory/shop/memory.limit_in_bytes", "4096\n");
  write("/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/cpu/shop/cpu.cfs_quota_us", "50000\n");
  write("/cpu/shop/cpu.cfs_period_us", "100000\n");
  write("/cpu/cpu.cfs_quota_us", "-1\n");
  write("/cpu/cpu.cfs_period_us", "100000\n");
  const auto limits = cgroup_limits("4:memory:/shop\n3:cpu,cpuacct:/shop\n0::/\n", mount_);
  EXPECT_EQ(limits.memory_bytes, 4096U);
  EXPECT_EQ(limits.processors, 0.5);
}

TEST_F(Cgroup, ReadsTheUseOfTheGroupWhoseLimitBinds) {
  write("/pods/memory.max", "1000\n");
  write("/pods/memory.current", "900\n");
  write("/pods/memory.stat", "anon 400\ninactive_file 300\nactive_file 200\n");
  write("/pods/shop/memory.max", "5000\n");
  write("/pods/shop/memory.current", "500\n");
  EXPECT_EQ(cgroup_memory_use("0::/pods/shop\n", mount_), 600U);
  write("/memory/shop/memory.limit_in_bytes", "4096\n");
  write("/memory/shop/memory.usage_in_bytes", "2048\n");
  write("/memory/shop/memory.stat", "inactive_file 1\ntotal_inactive_file 48\n");
  EXPECT_EQ(cgroup_memory_use("4:memory:/shop\n0::/\n", mount_), 2000U);
  EXPECT_FALSE(cgroup_memory_use("0::/other\n", mount_));
}

TEST_F(Cgroup, KnowsOfNoLimitOutsideOfWhatItSees) {
  write("/memory.max", "4096\n");
  for (const auto* text : {"0::/../other\n", "", "nonsense", "0:", "0::relative\n"}) {
    const auto limits = cgroup_limits(text, mount_);
    EXPECT_FALSE(limits.memory_bytes) << text;
    EXPECT_FALSE(limits.processors) << text;
  }
}

}  // namespace
}  // namespace clrscope
