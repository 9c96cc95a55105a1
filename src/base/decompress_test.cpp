#include "base/decompress.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace clrscope {
namespace {

std::string plain_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919) + ' ';
  return text;
}

std::string zstd_of(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  auto* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string gzip_of(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Outcome {
  std::string text;
  bool ok = false;
  bool whole = false;
};

Outcome run(std::string_view input, std::size_t chunk) {
  Outcome outcome;
  Decompressor decompressor;
  const auto collect = [&](Bytes bytes) -> Result<> {
    outcome.text += as_text(bytes);
    return {};
  };
  for (; !input.empty(); input.remove_prefix(std::min(chunk, input.size())))
    if (!decompressor.feed(as_bytes(input.substr(0, chunk)), collect)) return outcome;
  const auto whole = decompressor.finish(collect);
  outcome.ok = whole.has_value();
  outcome.whole = whole.value_or(false);
  return outcome;
}

TEST(Decompressor, TakesZstdAndGzipAndPlainBytesInAnyPieces) {
  const auto text = plain_text();
  for (const auto& input : {text, zstd_of(text), gzip_of(text)})
    for (const std::size_t chunk : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 24}) {
      const auto outcome = run(input, chunk);
      EXPECT_TRUE(outcome.whole);
      EXPECT_TRUE(outcome.text == text) << "in pieces of " << chunk;
    }
}

TEST(Decompressor, JoinsFramesThatFollowEachOther) {
  EXPECT_EQ(run(zstd_of("one ") + zstd_of("two"), 5).text, "one two");
  EXPECT_EQ(run(gzip_of("one ") + gzip_of("two"), 5).text, "one two");
}

TEST(Decompressor, SaysWhenTheInputWasCutShortAndGivesWhatThereWas) {
  const auto text = plain_text();
  for (const auto& input : {zstd_of(text), gzip_of(text)}) {
    const auto outcome = run(std::string_view{input}.substr(0, input.size() / 2), 4096);
    EXPECT_TRUE(outcome.ok);
    EXPECT_FALSE(outcome.whole);
    EXPECT_GT(outcome.text.size(), text.size() / 8);  // whole blocks only
    EXPECT_TRUE(text.starts_with(outcome.text));
  }
}

TEST(Decompressor, ReportsDamage) {
  const auto text = plain_text();
  for (auto input : {zstd_of(text), gzip_of(text)}) {
    for (std::size_t i = input.size() / 2; i < input.size() / 2 + 64; ++i) input[i] = '\x55';
    EXPECT_FALSE(run(input, 4096).ok);
  }
}

TEST(Decompressor, PassesShortAndEmptyInputThrough) {
  EXPECT_EQ(run("abc", 1).text, "abc");
  EXPECT_TRUE(run("", 1).whole);
}

}  // namespace
}  // namespace clrscope
