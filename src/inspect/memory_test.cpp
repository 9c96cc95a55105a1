#include "inspect/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace clrscope::inspect {
namespace {

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

TEST(Memory, ReadsAcrossPagesAndKeepsThem) {
  const auto live = open_live_memory(::getpid());
  ASSERT_TRUE(live.has_value());
  std::vector<std::uint64_t> words(2048);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 7;
  Memory memory{**live};
  for (std::size_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(memory.pointer(address_of(&words[i])), i * 7);
  EXPECT_LE(memory.pages_read(), words.size() * 8 / 4096 + 1);
  EXPECT_EQ(memory.block(address_of(words.data()), 64).size(), 64U);
}

TEST(Memory, EndsWhereNothingIsMapped) {
  const auto live = open_live_memory(::getpid());
  ASSERT_TRUE(live.has_value());
  Memory memory{**live};
  auto* const pages = static_cast<char*>(
      ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ::munmap(pages + 4096, 4096);
  std::memset(pages, 'x', 4096);
  EXPECT_TRUE(memory.get<std::uint32_t>(address_of(pages + 4092)).has_value());
  EXPECT_FALSE(memory.get<std::uint32_t>(address_of(pages + 4093)).has_value());
  EXPECT_EQ(memory.text(address_of(pages)), "");
  std::strcpy(pages + 4000, "text");
  memory.forget();
  EXPECT_EQ(memory.text(address_of(pages + 4000)), "text");
  EXPECT_FALSE(memory.pointer(~std::uint64_t{3}).has_value());
  ::munmap(pages, 4096);
}

TEST(Memory, SaysWhoMayReadWhatCannotBeOpened) {
  const auto none = open_live_memory(-1);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace clrscope::inspect
