#include "base/zstd_block.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(ZstdBlock, GivesBackWhatWentIn) {
  const std::string text(100'000, 'a');
  const auto block = zstd_block(as_bytes(text), 1);
  EXPECT_LT(block.size(), 1000U);
  EXPECT_EQ(read_zstd_block(as_bytes(block), 100'000).value(), text);
}

TEST(ZstdBlock, RefusesMoreThanTheLimit) {
  const auto block = zstd_block(as_bytes(std::string(1001, 'a')), 1);
  EXPECT_EQ(read_zstd_block(as_bytes(block), 1000).error().code, Errc::kTooLarge);
}

TEST(ZstdBlock, RefusesEveryDamagedByteOrCut) {
  const auto block = zstd_block(as_bytes("some text, some text, some text"), 1);
  for (std::size_t at = 0; at < block.size(); ++at) {
    auto damaged = block;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const auto read = read_zstd_block(as_bytes(damaged), 1000);
    if (read) {
      EXPECT_EQ(*read, "some text, some text, some text");
    }
    EXPECT_FALSE(read_zstd_block(as_bytes(block).first(at), 1000));
  }
}

}  // namespace
}  // namespace clrscope
