#include "symbols/native_file.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "symbols/elf.h"

namespace clrscope {
namespace {

std::string large_file() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&std::fflush), &info) != 0 ? info.dli_fname : "";
}

bool equal(Bytes a, Bytes b) { return std::ranges::equal(a, b); }

TEST(NativeFile, ReadsTheFramesOfAnElfFileAsIfItWereWhole) {
  const auto path = large_file();
  if (path.empty()) GTEST_SKIP() << "static libc";
  const auto whole = NativeFile::open(path);
  const auto parts = NativeFile::open_tables(path, NativeFile::Tables::kFrames);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(parts);
  ASSERT_EQ(whole->bytes().size(), parts->bytes().size());
  EXPECT_FALSE(equal(whole->bytes(), parts->bytes()));  // code was left out
  const auto a = ElfFile::parse(whole->bytes());
  const auto b = ElfFile::parse(parts->bytes());
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  EXPECT_EQ(a->build_id(), b->build_id());
  EXPECT_TRUE(equal(a->eh_frame()->bytes, b->eh_frame()->bytes));
  EXPECT_TRUE(equal(a->eh_frame_hdr()->bytes, b->eh_frame_hdr()->bytes));
}

TEST(NativeFile, ReadsTheSymbolsOfAnElfFileAsIfItWereWhole) {
  const auto path = large_file();
  if (path.empty()) GTEST_SKIP() << "static libc";
  const auto whole = NativeFile::open(path);
  const auto parts = NativeFile::open_tables(path, NativeFile::Tables::kNames);
  ASSERT_TRUE(whole);
  ASSERT_TRUE(parts);
  const auto a = ElfFile::parse(whole->bytes());
  const auto b = ElfFile::parse(parts->bytes());
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  const auto names = [](const std::vector<ElfSymbol>& symbols) {
    std::vector<std::string_view> all;
    for (const auto& symbol : symbols) all.push_back(symbol.name);
    return all;
  };
  EXPECT_EQ(names(a->symbols()), names(b->symbols()));
  EXPECT_EQ(names(a->dynamic_symbols()), names(b->dynamic_symbols()));
  EXPECT_GT(b->dynamic_symbols().size(), 100U);
  EXPECT_FALSE(equal(a->eh_frame()->bytes, b->eh_frame()->bytes));  // not asked for
}

TEST(NativeFile, ReadsWhatIsNoElfFileWhole) {
  const auto path = std::filesystem::path{testing::TempDir()} /
                    ("native_file_test." + std::to_string(::getpid()));
  const std::string text(300'000, 'x');
  std::ofstream{path} << text;
  const auto file = NativeFile::open_tables(path, NativeFile::Tables::kFrames);
  std::filesystem::remove(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->bytes().size(), text.size());
  EXPECT_EQ(file->bytes()[299'999], 'x');
}

}  // namespace
}  // namespace clrscope
