#include "base/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

namespace clrscope {
namespace {

const std::string kText = [] {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}();

std::vector<std::uint8_t> zlib_packed() {
  std::vector<std::uint8_t> out(compressBound(kText.size()));
  auto size = static_cast<uLongf>(out.size());
  compress(out.data(), &size, reinterpret_cast<const Bytef*>(kText.data()), kText.size());
  out.resize(size);
  return out;
}

std::vector<std::uint8_t> zstd_packed() {
  std::vector<std::uint8_t> out(ZSTD_compressBound(kText.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), kText.data(), kText.size(), 3));
  return out;
}

TEST(Inflate, GivesBackWhatWasPacked) {
  const auto zlib = zlib_packed();
  const auto deflate = Bytes{zlib}.subspan(2, zlib.size() - 6);  // without head and checksum
  for (const auto& [packing, packed] :
       {std::pair{Packing::kZlib, Bytes{zlib}}, std::pair{Packing::kDeflate, deflate}}) {
    const auto plain = inflate_piece(packing, packed, kText.size());
    ASSERT_TRUE(plain) << plain.error().what;
    EXPECT_EQ(as_text(*plain), kText);
  }
  const auto zstd = zstd_packed();
  EXPECT_EQ(as_text(inflate_piece(Packing::kZstd, zstd, kText.size()).value()), kText);
}

TEST(Inflate, RefusesAnotherSizeThanWasSaid) {
  const auto zlib = zlib_packed();
  const auto zstd = zstd_packed();
  for (const auto size : {kText.size() - 1, kText.size() + 1}) {
    EXPECT_FALSE(inflate_piece(Packing::kZlib, zlib, size));
    EXPECT_FALSE(inflate_piece(Packing::kZstd, zstd, size));
  }
}

TEST(Inflate, RefusesSizesThatTheInputCannotHold) {
  const auto zlib = zlib_packed();
  EXPECT_FALSE(inflate_piece(Packing::kZlib, zlib, std::uint64_t{1} << 29));
  EXPECT_FALSE(inflate_piece(Packing::kZlib, zlib, ~std::uint64_t{0}));
}

TEST(Inflate, RefusesWhatIsCutShort) {
  const auto zlib = zlib_packed();
  EXPECT_FALSE(inflate_piece(Packing::kZlib, Bytes{zlib}.first(zlib.size() / 2), kText.size()));
  EXPECT_FALSE(inflate_piece(Packing::kDeflate, {}, 10));
}

}  // namespace
}  // namespace clrscope
