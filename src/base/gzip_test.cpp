#include "base/gzip.h"

#include <gtest/gtest.h>

#include "base/decompress.h"

namespace clrscope {
namespace {

std::string unpacked(const std::string& packed) {
  std::string out;
  Decompressor reader;
  const auto take = [&](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  };
  EXPECT_TRUE(reader.feed(as_bytes(packed), take));
  const auto whole = reader.finish(take);
  EXPECT_TRUE(whole && *whole);
  EXPECT_TRUE(reader.compressed());
  return out;
}

TEST(Gzip, IsReadBackWhole) {
  std::string text;
  for (std::uint32_t i = 0; i < 200'000; ++i) text += static_cast<char>(i * i % 251);
  EXPECT_EQ(unpacked(gzip(as_bytes(text))), text);
  EXPECT_LT(gzip(as_bytes(text)).size(), text.size());
}

TEST(Gzip, HasNoTimeInIt) {
  const std::string text = "the same bytes";
  EXPECT_EQ(gzip(as_bytes(text)), gzip(as_bytes(text)));
  EXPECT_EQ(gzip(as_bytes(text)).substr(4, 4), std::string(4, '\0'));
}

}  // namespace
}  // namespace clrscope
