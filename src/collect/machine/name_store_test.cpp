#include "collect/machine/name_store.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
#include "unwind/code_map.h"

namespace clrscope::collect {
namespace {

TEST(NameStore, NamesAFileThatHasNoNameAnyMore) {
  Dl_info info{};
  const auto address = reinterpret_cast<std::uintptr_t>(&std::fflush);
  if (::dladdr(reinterpret_cast<void*>(&std::fflush), &info) == 0) GTEST_SKIP() << "static libc";
  const UniqueFd fd{::open(info.dli_fname, O_RDONLY | O_CLOEXEC)};
  ASSERT_TRUE(fd);
  NameStore store{""};
  const auto& names = store.of(::getpid(), "/gone/libc.so (deleted)", fd.get());
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  EXPECT_NE(names.name_at(address - base).find("fflush"), std::string::npos);
}

TEST(NameStore, NamesTheKernelsOwnLibrary) {
  if (unwind::own_vdso().empty()) GTEST_SKIP() << "no vdso here";
  NameStore store{""};
  const auto& names = store.of(::getpid(), "[vdso]", -1);
  EXPECT_GT(names.size(), 2U);
}

TEST(NameStore, KnowsNothingOfWhatIsNotOpen) {
  NameStore store{""};
  EXPECT_EQ(store.of(::getpid(), "/nowhere", -1).size(), 0U);
}

}  // namespace
}  // namespace clrscope::collect
