#include "base/temp_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

namespace clrscope {
namespace {

TEST(TempFile, CanBeWrittenAndReadAndHasNoName) {
  std::string folder = (std::filesystem::temp_directory_path() / "temp-file-XXXXXX").string();
  ASSERT_TRUE(::mkdtemp(folder.data()));
  const auto fd = open_temp_file(folder);
  ASSERT_TRUE(fd);
  ASSERT_EQ(::pwrite(fd->get(), "abc", 3, 0), 3);
  char back[3];
  EXPECT_EQ(::pread(fd->get(), back, 3, 0), 3);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(TempFile, SaysWhichFolderItCouldNotUse) {
  const auto fd = open_temp_file("/no/such/folder");
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().what.find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace clrscope
