#include "unwind/cfi_parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "symbols/native_file.h"
#include "unwind/cfi_table.h"

namespace clrscope::unwind {
namespace {

std::string libc_path() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&std::fflush), &info) != 0 ? info.dli_fname : "";
}

UniqueFd open_file(const std::string& path) {
  return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

LazyTable in_parts(int fd) {
  return LazyTable{[] { return UnwindTable{}; }, [fd] { return cfi_parts(fd); }};
}

// The same rule, whatever numbers its expressions have.
bool equal(UnwindRule a, const UnwindTable& in_a, UnwindRule b, const LazyTable& in_b) {
  const auto same_bytes = [&](std::int32_t left, std::int32_t right) {
    return std::ranges::equal(in_a.expression(left), in_b.expression(right));
  };
  if (a.cfa == UnwindRule::Cfa::kExpr && b.cfa == UnwindRule::Cfa::kExpr) {
    if (!same_bytes(a.cfa_offset, b.cfa_offset)) return false;
    a.cfa_offset = b.cfa_offset = 0;
  }
  for (std::size_t i = 0; i < a.saved.size(); ++i) {
    const auto kind = a.saved[i].kind();
    if (kind != b.saved[i].kind() || (kind != Saved::kAtExpr && kind != Saved::kIsExpr)) continue;
    if (!same_bytes(a.saved[i].value(), b.saved[i].value())) return false;
    a.saved[i] = b.saved[i] = {};
  }
  return a == b;
}

// At every address where a rule begins, and at the one before it.
void expect_parts_say_what_the_whole_says(const std::string& path, std::size_t least_rows) {
  const auto file = NativeFile::open(path);
  const auto fd = open_file(path);
  if (!file || !fd) GTEST_SKIP() << path << " is not here";
  const auto elf = ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf);
  const auto whole = make_cfi_table(*elf);
  ASSERT_GT(whole.rows().size(), least_rows);
  ASSERT_TRUE(cfi_parts(fd.get())) << "no index";
  const auto parts = in_parts(fd.get());
  std::size_t different = 0;
  for (const auto& row : whole.rows())
    for (const auto vaddr : {whole.base() + row.address - 1, whole.base() + row.address}) {
      const auto* expected = whole.find(vaddr);
      const auto* found = parts.find(vaddr);
      if ((found != nullptr) != (expected != nullptr) ||
          (found && !equal(*expected, whole, *found, parts)))
        ++different;
    }
  EXPECT_EQ(different, 0U);
}

TEST(CfiParts, SayOfLibcWhatTheWholeTableSays) {
  expect_parts_say_what_the_whole_says(libc_path(), 5000);
}

TEST(CfiParts, SayOfThisProgramWhatTheWholeTableSays) {
  expect_parts_say_what_the_whole_says("/proc/self/exe", 5000);
}

TEST(CfiParts, SayOfTheRuntimeWhatTheWholeTableSays) {
  for (const char* root : {"/usr/share/dotnet", "/usr/lib/dotnet"}) {
    std::error_code ignored;
    const auto runtimes = std::filesystem::path{root} / "shared/Microsoft.NETCore.App";
    for (const auto& version : std::filesystem::directory_iterator{runtimes, ignored})
      return expect_parts_say_what_the_whole_says(version.path() / "libcoreclr.so", 5000);
  }
  GTEST_SKIP() << "no runtime here";
}

TEST(CfiParts, TakeMemoryForTheFunctionsSeen) {
  const auto fd = open_file("/proc/self/exe");
  const auto file = NativeFile::open("/proc/self/exe");
  ASSERT_TRUE(file);
  const auto whole = make_cfi_table(*ElfFile::parse(file->bytes()));
  const auto parts = in_parts(fd.get());
  const auto& rows = whole.rows();
  for (std::size_t i = 0; i < rows.size(); i += rows.size() / 20)
    (void)parts.find(whole.base() + rows[i].address);
  EXPECT_LT(parts.memory_bytes(), whole.memory_bytes() / 3);
}

TEST(CfiParts, AreMadeAgainWhenTheyWereForgotten) {
  const auto path = libc_path();
  const auto fd = open_file(path);
  if (!fd) GTEST_SKIP() << "static libc";
  auto parts = in_parts(fd.get());
  Dl_info info{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&std::fflush), &info), 0);
  const auto vaddr = reinterpret_cast<std::uint64_t>(&std::fflush) -
                     reinterpret_cast<std::uint64_t>(info.dli_fbase);
  ASSERT_NE(parts.find(vaddr), nullptr);
  const auto rule = *parts.find(vaddr);
  parts.forget();
  EXPECT_FALSE(parts.made());
  EXPECT_EQ(parts.memory_bytes(), 0U);
  ASSERT_NE(parts.find(vaddr), nullptr);
  EXPECT_EQ(*parts.find(vaddr), rule);
}

// Its places say nothing any more; what must not happen is reading past them.
TEST(CfiParts, KnowNothingOfAFileThatWasCutShort) {
  const auto copy =
      std::filesystem::path{testing::TempDir()} / ("cfi_parts_test." + std::to_string(::getpid()));
  const auto path = libc_path();
  if (path.empty()) GTEST_SKIP() << "static libc";
  std::filesystem::copy_file(path, copy);
  const auto fd = open_file(copy);
  const auto found = cfi_parts(fd.get());
  std::filesystem::resize_file(copy, 4096);
  std::filesystem::remove(copy);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->make(0).rows().empty());
  EXPECT_TRUE(found->make(found->starts.size() - 1).rows().empty());
}

TEST(CfiParts, AreNoneWithoutAnIndex) {
  const auto fd = open_file("/proc/self/status");
  ASSERT_TRUE(fd);
  EXPECT_FALSE(cfi_parts(fd.get()));
}

}  // namespace
}  // namespace clrscope::unwind
