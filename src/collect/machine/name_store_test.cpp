#include "collect/machine/name_store.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fd.h"
#include "unwind/code_map.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kPlenty = 64 << 20;

// A library that this program has loaded, open.
UniqueFd open_library(void* function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0) return {};
  return UniqueFd{::open(info.dli_fname, O_RDONLY | O_CLOEXEC)};
}

TEST(NameStore, NamesAFileThatHasNoNameAnyMore) {
  Dl_info info{};
  const auto address = reinterpret_cast<std::uintptr_t>(&::getpagesize);
  if (::dladdr(reinterpret_cast<void*>(&::getpagesize), &info) == 0) GTEST_SKIP() << "static libc";
  const UniqueFd fd{::open(info.dli_fname, O_RDONLY | O_CLOEXEC)};
  ASSERT_TRUE(fd);
  NameStore store{"", kPlenty};
  const auto& names = store.of(::getpid(), "/gone/libc.so (deleted)", fd.get());
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  EXPECT_NE(names.name_at(address - base).find("getpagesize"), std::string::npos);
}

TEST(NameStore, NamesTheKernelsOwnLibrary) {
  if (unwind::own_vdso().empty()) GTEST_SKIP() << "no vdso here";
  NameStore store{"", kPlenty};
  const auto& names = store.of(::getpid(), "[vdso]", -1);
  EXPECT_GT(names.size(), 2U);
}

TEST(NameStore, KeepsTheFilesAskedForLastWithinItsLimit) {
  const UniqueFd program{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
  const auto libc = open_library(reinterpret_cast<void*>(&::getpagesize));
  if (!program || !libc) GTEST_SKIP() << "static libc";
  const auto ask = [](NameStore& store, const UniqueFd& fd) {
    return store.of(::getpid(), "/somewhere", fd.get()).memory_bytes();
  };
  NameStore measured{"", kPlenty};
  const auto most = std::max(ask(measured, program), ask(measured, libc));
  ASSERT_GT(measured.memory_bytes(), most);
  ASSERT_EQ(measured.made(), 2U);
  (void)ask(measured, program);
  EXPECT_EQ(measured.made(), 2U) << "both fit";

  NameStore store{"", most};
  (void)ask(store, program);
  (void)ask(store, libc);
  EXPECT_LE(store.memory_bytes(), most);
  (void)ask(store, libc);
  EXPECT_EQ(store.made(), 2U) << "the last one is kept";
  (void)ask(store, program);
  EXPECT_EQ(store.made(), 3U) << "the other one is made again";
  EXPECT_LE(store.memory_bytes(), most);
}

TEST(NameStore, ForgetsFilesWithoutNamesWhenThereAreMany) {
  const auto empty = [] { return UniqueFd{::memfd_create("empty", MFD_CLOEXEC)}; };
  const auto first = empty();
  ASSERT_TRUE(first);
  NameStore store{"", kPlenty};
  (void)store.of(::getpid(), "/first", first.get());
  (void)store.of(::getpid(), "/first", first.get());
  EXPECT_EQ(store.made(), 1U);
  constexpr std::size_t kMany = 5000;
  for (std::size_t i = 0; i < kMany; ++i) (void)store.of(::getpid(), "/other", empty().get());
  (void)store.of(::getpid(), "/first", first.get());
  EXPECT_EQ(store.made(), kMany + 2) << "it had been forgotten";
}

TEST(NameStore, KnowsNothingOfWhatIsNotOpen) {
  NameStore store{"", kPlenty};
  EXPECT_EQ(store.of(::getpid(), "/nowhere", -1).size(), 0U);
}

}  // namespace
}  // namespace clrscope::collect
