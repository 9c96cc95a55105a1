#include "unwind/code_map.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "symbols/elf.h"
#include "symbols/native_file.h"

namespace clrscope::unwind {
namespace {

CodeMapping our_libc() {
  const auto mappings = code_mappings(::getpid());
  if (!mappings) return {};
  for (const auto& mapping : *mappings)
    if (mapping.path.find("/libc.so") != std::string::npos) return mapping;
  return {};
}

std::string build_id_of(const std::string& path) {
  const auto file = NativeFile::open(path);
  const auto elf = ElfFile::parse(file.value().bytes());
  return elf.value().build_id();
}

pid_t pid_of_nobody() {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

// Of so many places all over a range, how many have a rule.
std::size_t known_places(const CodeRange& range) {
  constexpr std::uint64_t kStep = 512;
  std::size_t known = 0;
  for (auto at = range.start; at < range.end; at += kStep)
    if (range.table->find(at - range.bias)) ++known;
  return known;
}

TEST(CodeMap, MakesATableWhenTheFirstStackLeadsIntoItsFile) {
  const auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  CodeMap map;
  const auto space = address_space_of(::getpid(), map);
  ASSERT_TRUE(space);
  EXPECT_GT(map.files(), 1U);
  EXPECT_EQ(map.tables(), 0U);
  const auto* range = space->find(libc.start);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->kind, CodeKind::kElf);
  EXPECT_GT(known_places(*range), 1000U);
  EXPECT_EQ(map.tables(), 1U);
}

TEST(CodeMap, MakesOfATableWhatStacksLeadInto) {
  const auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  CodeMap map;
  const auto range = map.locate(libc, ::getpid()).range;
  auto somewhere = range.start + (range.end - range.start) / 2;
  while (somewhere < range.end && !range.table->find(somewhere - range.bias)) ++somewhere;
  ASSERT_LT(somewhere, range.end);
  const auto few = map.memory_bytes();
  EXPECT_GT(known_places(range), 1000U);
  EXPECT_GT(map.memory_bytes(), 2 * few);
}

TEST(CodeMap, ForgetsTablesThatNobodyUsesAndMakesThemAgain) {
  const auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  CodeMap map;
  const auto located = map.locate(libc, ::getpid());
  const auto known = known_places(located.range);
  const auto bytes = map.memory_bytes();
  map.trim(bytes);
  EXPECT_EQ(map.tables(), 1U) << "it fits";
  (void)known_places(located.range);
  map.trim(bytes - 1);
  EXPECT_EQ(map.tables(), 1U) << "it is in use";
  map.trim(bytes - 1);
  EXPECT_EQ(map.tables(), 0U);
  EXPECT_EQ(map.memory_bytes(), 0U);
  EXPECT_EQ(known_places(located.range), known);
  map.trim(bytes / 4);
  EXPECT_EQ(map.tables(), 0U) << "too much even in use";
}

TEST(CodeMap, TakesTheSameBuildUnderTheSameNameWhenItsProcessHasGone) {
  auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  libc.build_id = build_id_of(libc.path);
  CodeMap map;
  EXPECT_EQ(map.locate(libc, pid_of_nobody()).range.kind, CodeKind::kElf);
}

TEST(CodeMap, TakesNoOtherBuildUnderTheSameName) {
  auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  libc.build_id = "00112233";
  libc.start += 1;  // no mapping leads to it
  CodeMap map;
  EXPECT_EQ(map.locate(libc, ::getpid()).range.kind, CodeKind::kUnknown);
}

TEST(CodeMap, KeepsAFileThatIsDeletedMeanwhile) {
  auto libc = our_libc();
  if (libc.path.empty()) GTEST_SKIP() << "no shared libc";
  const auto copy = std::filesystem::temp_directory_path() /
                    ("code_map_test." + std::to_string(::getpid()) + ".so");
  std::filesystem::copy_file(libc.path, copy);
  libc.path = copy;
  CodeMap map;
  const auto located = map.locate(libc, ::getpid());
  std::filesystem::remove(copy);
  ASSERT_NE(located.range.table, nullptr);
  EXPECT_GT(known_places(located.range), 1000U);
  EXPECT_GE(located.fd, 0);
}

}  // namespace
}  // namespace clrscope::unwind
