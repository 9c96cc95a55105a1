#include "ipc/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace clrscope::ipc {
namespace {

TEST(MappedFile, FindsTheCodeOfALibrary) {
  const auto libc = mapped_file(::getpid(), "libcoreclr.so", "libc.so.6");
  ASSERT_TRUE(libc);
  EXPECT_TRUE(libc->ends_with("/libc.so.6")) << *libc;
}

TEST(MappedFile, SaysTheSameFromTheText) {
  EXPECT_EQ(mapped_file(::getpid(), "ipc_test", "-"),
            mapped_file_by_text(::getpid(), "ipc_test", "-"));
  EXPECT_TRUE(mapped_file_by_text(::getpid(), "-", "libc.so.6"));
}

TEST(MappedFile, FindsNothingThatIsNotMapped) {
  EXPECT_FALSE(mapped_file(::getpid(), "libcoreclr.so", "libclrjit.so"));
  EXPECT_FALSE(mapped_file_by_text(::getpid(), "libcoreclr.so", "libclrjit.so"));
}

TEST(MappedFile, FindsNothingInAProcessThatIsGone) {
  EXPECT_FALSE(mapped_file(0x3fffffff, "libc.so.6", "-"));
}

}  // namespace
}  // namespace clrscope::ipc
