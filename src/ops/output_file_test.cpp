#include "ops/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/io.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string made = fs::temp_directory_path() / "output_file_test.XXXXXX";
    folder_ = ::mkdtemp(made.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return folder_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator{folder_}, fs::directory_iterator{}));
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWhenItIsWhole) {
  auto file = OutputFile::create(path("a"));
  ASSERT_TRUE(file) << file.error().what;
  ASSERT_TRUE(write_all(file->fd(), as_bytes("text")));
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_file(path("a")), "text");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, ReplacesWhatWasThere) {
  for (const char* text : {"long old text", "new"}) {
    auto file = OutputFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_all(file->fd(), as_bytes(text)));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(read_file(path("a")), "new");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, LeavesNothingWhenItIsGivenUp) {
  {
    auto file = OutputFile::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_all(file->fd(), as_bytes("half")));
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, IsForItsOwnerAlone) {
  const auto before = ::umask(0);
  auto file = OutputFile::create(path("a"));
  ::umask(before);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->commit());
  struct ::stat info {};
  ASSERT_EQ(::stat(path("a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(OutputFileTest, WritesToADeviceDirectly) {
  auto file = OutputFile::create("/dev/null");
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_all(file->fd(), as_bytes("text")));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFileTest, RefusesAFolderAndAPlaceThatIsNotThere) {
  EXPECT_FALSE(OutputFile::create(folder_));
  const auto nowhere = OutputFile::create(path("none/a"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace clrscope::ops
