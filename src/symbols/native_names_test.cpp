#include "symbols/native_names.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <unordered_map>

#include "symbols/native_file.h"

namespace clrscope {
namespace {

// What nm says: all names of code by address.
std::unordered_map<std::uint64_t, std::set<std::string>> names_of_nm(const std::string& command) {
  std::unordered_map<std::uint64_t, std::set<std::string>> names;
  std::FILE* pipe = ::popen(("LC_ALL=C " + command + " 2>/dev/null").c_str(), "r");
  char line[8192];
  while (std::fgets(line, sizeof line, pipe)) {
    std::istringstream in{line};
    std::string address, type, name;
    if (!(in >> address >> type >> name) || type.size() != 1) continue;
    if (std::string_view{"TtWwi"}.find(type[0]) == std::string_view::npos) continue;
    names[std::stoull(address, nullptr, 16)].insert(name.substr(0, name.find('@')));
  }
  ::pclose(pipe);
  return names;
}

TEST(NativeNames, AreThoseThatNmTellsOfThisProgram) {
  if (std::system("command -v nm >/dev/null 2>&1") != 0) GTEST_SKIP() << "nm is not installed";
  const auto names = load_native_names("/proc/self/exe");
  ASSERT_TRUE(names) << names.error().what;
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::size_t compared = 0;
  for (const auto& [address, known] : names_of_nm("nm '" + self + "'")) {
    const auto found = names->find(address);
    if (!found || found->start != address) {
      // Weak data and labels at the end of a section name no code.
      EXPECT_TRUE(known.contains("_fini") || known.contains("_init") || !found ||
                  found->end > address)
          << *known.begin();
      continue;
    }
    ++compared;
    EXPECT_TRUE(known.contains(std::string{found->name.substr(0, found->name.find('@'))}))
        << std::hex << address << " is " << found->name << " to us, " << *known.begin() << " to nm";
  }
  EXPECT_GT(compared, 1000u);
}

TEST(NativeNames, OfLibcAreThoseOfItsDynamicSymbols) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(libc)) GTEST_SKIP() << libc << " is not here";
  const auto file = NativeFile::open(libc);
  ASSERT_TRUE(file);
  const auto elf = ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf);
  const auto names = NativeNames::of(*elf);
  std::size_t compared = 0;
  for (const auto& [address, known] : names_of_nm("nm -D --defined-only " + libc)) {
    const auto found = names.find(address);
    if (!found || found->start != address) continue;  // weak data
    ++compared;
    EXPECT_TRUE(known.contains(std::string{found->name})) << found->name;
  }
  EXPECT_GT(compared, 1000u);
}

TEST(NativeNames, NameEachFunctionWithoutASymbolByItsStart) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(libc)) GTEST_SKIP() << libc << " is not here";
  const auto file = NativeFile::open(libc);
  ASSERT_TRUE(file);
  const auto elf = ElfFile::parse(file->bytes());
  ASSERT_TRUE(elf);
  const auto names = NativeNames::of(*elf);
  std::size_t nameless = 0;
  for (const auto* section = elf->section(".text"); nameless == 0;) {
    ASSERT_NE(section, nullptr);
    for (auto at = section->vaddr; at < section->vaddr + section->size; at += 64)
      if (const auto found = names.find(at); found && found->name.empty()) {
        EXPECT_EQ(names.name_at(at), fmt::format("fn_{:x}", found->start));
        ++nameless;
      }
    ASSERT_GT(nameless, 0u);
  }
}

TEST(NativeNames, AreEmptyOutsideOfFunctions) {
  EXPECT_EQ(NativeNames{}.name_at(0x1000), "");
  const auto names = load_native_names("/proc/self/exe");
  ASSERT_TRUE(names);
  EXPECT_EQ(names->name_at(0), "");
  EXPECT_EQ(names->name_at(~std::uint64_t{0}), "");
}

TEST(NativeNames, AreReadable) {
  EXPECT_EQ(demangled("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(demangled("qsort"), "qsort");
  EXPECT_EQ(demangled("_Znonsense!"), "_Znonsense!");
}

TEST(ElfFile, TellsTheBuildIdThatReadelfTells) {
  if (std::system("command -v readelf >/dev/null 2>&1") != 0) GTEST_SKIP() << "no readelf";
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!std::filesystem::exists(libc)) GTEST_SKIP() << libc << " is not here";
  const auto file = NativeFile::open(libc);
  ASSERT_TRUE(file) << file.error().what;
  std::FILE* pipe = ::popen(("LC_ALL=C readelf -n " + libc).c_str(), "r");
  std::string text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  ::pclose(pipe);
  const auto id = ElfFile::parse(file->bytes())->build_id();
  EXPECT_EQ(id.size(), 40u);
  EXPECT_NE(text.find("Build ID: " + id), std::string::npos) << text;
}

TEST(ElfFile, TakesTheExecutableSegmentWhereTwoShareAPage) {
  const std::vector<ElfSegment> segments{
      {.type = 1, .flags = 4, .offset = 0, .vaddr = 0, .file_size = 0x8998, .memory_size = 0x8998},
      {.type = 1,
       .flags = 5,
       .offset = 0x89a0,
       .vaddr = 0x99a0,
       .file_size = 0x500,
       .memory_size = 0x500}};
  EXPECT_EQ(code_vaddr_of_offset(segments, 0x8000), 0x9000u);
  EXPECT_EQ(code_vaddr_of_offset(segments, 0x1000), std::nullopt);
}

TEST(ElfFile, RefusesWhatIsNone) {
  EXPECT_FALSE(ElfFile::parse(as_bytes("")));
  EXPECT_FALSE(ElfFile::parse(as_bytes("#!/bin/sh")));
  const std::string zeros(200, '\0');
  EXPECT_FALSE(ElfFile::parse(as_bytes(zeros)));
}

TEST(NativeFile, SaysWhichFileCannotBeRead) {
  const auto missing = NativeFile::open("/nonexistent/x.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_FALSE(NativeFile::open("/dev/null"));
}

}  // namespace
}  // namespace clrscope
