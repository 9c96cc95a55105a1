#include "ops/target_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

// In the temporary folder of this very process.
class TargetFolderTest : public ::testing::Test {
 protected:
  Result<TargetFolder> open(bool make) { return TargetFolder::open(::getpid(), name_, make); }
  void TearDown() override { fs::remove_all(path_); }

  std::string name_ = "clrscope-folder-test-" + std::to_string(::getpid());
  fs::path path_ = fs::temp_directory_path() / name_;
};

TEST_F(TargetFolderTest, IsMadeForItsUserOnly) {
  EXPECT_EQ(open(false).error().code, Errc::kNotFound);
  const auto folder = open(true);
  ASSERT_TRUE(folder) << folder.error().what;
  EXPECT_TRUE(folder->made());
  EXPECT_TRUE(folder->same_files());
  EXPECT_TRUE(folder->same_user());
  struct stat found {};
  ASSERT_EQ(::stat(folder->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  EXPECT_FALSE(open(true)->made());
}

TEST_F(TargetFolderTest, GivesBackWhatWasWritten) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write("a", as_bytes("first")));
  ASSERT_TRUE(folder->write("a", as_bytes("second")));
  EXPECT_EQ(*folder->read("a", 100), "second");
  EXPECT_EQ(*folder->read("a", 3), "sec");
  EXPECT_EQ(folder->read("b", 100).error().code, Errc::kNotFound);
  folder->remove("a");
  folder->remove_folder();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(TargetFolderTest, RefusesOneThatOthersCanEnter) {
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::all);
  EXPECT_EQ(open(true).error().code, Errc::kDenied);
}

TEST_F(TargetFolderTest, FollowsNoLinkInItsPlace) {
  fs::create_directory_symlink("/", path_);
  EXPECT_FALSE(open(true));
}

TEST_F(TargetFolderTest, WritesBesideALinkAndNotThroughIt) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  const auto other = path_.string() + "-other";
  std::ofstream{other} << "mine";
  fs::create_symlink(other, path_ / "wish");
  EXPECT_FALSE(folder->read("wish", 100));
  ASSERT_TRUE(folder->write("wish", as_bytes("ours")));
  std::string kept;
  std::ifstream{other} >> kept;
  EXPECT_EQ(kept, "mine");
  EXPECT_EQ(*folder->read("wish", 100), "ours");
  fs::remove(other);
}

}  // namespace
}  // namespace clrscope::ops
