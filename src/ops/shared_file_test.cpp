#include "ops/shared_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

class SharedFileTest : public testing::Test {
 protected:
  SharedFileTest() : folder_(fs::path{testing::TempDir()} / "shared_file_test") {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~SharedFileTest() override { fs::remove_all(folder_); }

  fs::path place(const SharedFile& file) const {
    return folder_ / fs::path{file.path()}.filename();
  }

  fs::path folder_;
};

TEST_F(SharedFileTest, IsReadAndRemovedWhereItsSocketLies) {
  const auto file = SharedFile::beside(folder_ / "socket", "/tmp");
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_THAT(file->path(), testing::StartsWith("/tmp/clrscope-"));
  EXPECT_EQ(file->size(), 0U);
  EXPECT_FALSE(file->open());
  std::ofstream{place(*file)} << "core";
  EXPECT_EQ(file->size(), 4U);
  EXPECT_TRUE(file->open());
  file->remove();
  EXPECT_FALSE(fs::exists(place(*file)));
}

TEST_F(SharedFileTest, IsNoLinkAndNoPipe) {
  const auto file = SharedFile::beside(folder_ / "socket", "/tmp");
  ASSERT_TRUE(file) << file.error().what;
  std::ofstream{folder_ / "secret"} << "secret";
  fs::create_symlink(folder_ / "secret", place(*file));
  EXPECT_EQ(file->size(), 0U);
  EXPECT_FALSE(file->open());
  file->remove();
  ASSERT_EQ(::mkfifo(place(*file).c_str(), 0600), 0);
  EXPECT_FALSE(file->open());
  EXPECT_TRUE(fs::exists(folder_ / "secret"));
}

TEST_F(SharedFileTest, HasAnotherNameEachTime) {
  EXPECT_NE(SharedFile::beside(folder_ / "socket", "/tmp")->path(),
            SharedFile::beside(folder_ / "socket", "/tmp")->path());
}

}  // namespace
}  // namespace clrscope::ops
