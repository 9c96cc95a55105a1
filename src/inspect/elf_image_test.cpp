#include "inspect/elf_image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace clrscope::inspect {
namespace {

// Without RTLD_DEFAULT's order a sanitizer's own qsort would answer.
std::uint64_t by_loader(const std::string& path, const char* name) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  return library ? reinterpret_cast<std::uint64_t>(dlsym(library, name)) : 0;
}

TEST(ElfImage, FindsSymbolsWhereTheLoaderDoes) {
  auto target = open_process(getpid());
  ASSERT_TRUE(target) << target.error().what;
  Memory memory{(*target)->memory()};
  const auto mappings = (*target)->mappings();
  ASSERT_TRUE(mappings);
  for (const auto& mapping : *mappings) {
    if (mapping.file_offset != 0 || !mapping.path.ends_with("/libc.so.6")) continue;
    for (const char* name : {"lseek", "opendir", "environ", "getppid"})
      EXPECT_EQ(find_dynamic_symbol(memory, mapping.start, name), by_loader(mapping.path, name))
          << name;
    EXPECT_EQ(find_dynamic_symbol(memory, mapping.start, "no_such_function"), std::nullopt);
    EXPECT_EQ(find_dynamic_symbol(memory, mapping.start + 4096, "lseek"), std::nullopt);
    return;
  }
  GTEST_SKIP() << "libc is not a file here";
}

TEST(ElfImage, TakesTheRuntimeBeforeExecutables) {
  std::vector<Mapping> mappings;
  const auto map = [&](std::uint64_t start, std::uint64_t offset, const char* path) {
    Mapping one;
    one.start = start, one.end = start + 4096, one.file_offset = offset, one.path = path;
    mappings.push_back(one);
  };
  map(0x1000, 0, "/app/shop");
  map(0x2000, 4096, "/app/shop");
  map(0x3000, 0, "/lib/libc.so.6");
  map(0x4000, 0, "/dotnet/libcoreclr.so");
  map(0x5000, 0, "/dotnet/libcoreclr.so");
  map(0x6000, 0, "[heap]");
  map(0x7000, 0, "/app/Shop.dll");
  const auto images = runtime_candidates(mappings);
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].base, 0x4000u);
  EXPECT_EQ(images[1].base, 0x1000u);
}

}  // namespace
}  // namespace clrscope::inspect
