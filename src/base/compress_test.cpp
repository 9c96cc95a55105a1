#include "base/compress.h"

#include <gtest/gtest.h>

#include "base/decompress.h"

namespace clrscope {
namespace {

class CompressorTest : public testing::Test {
 protected:
  Compressor::OnBytes to_file() {
    return [this](Bytes bytes) -> Result<> {
      file_ += as_text(bytes);
      return {};
    };
  }
  std::string plain(std::string_view file) {
    Decompressor decompressor;
    std::string text;
    const auto take = [&](Bytes bytes) -> Result<> {
      text += as_text(bytes);
      return {};
    };
    EXPECT_TRUE(decompressor.feed(as_bytes(file), take));
    const auto whole = decompressor.finish(take);
    EXPECT_TRUE(whole);
    whole_ = whole && *whole;
    return text;
  }

  Compressor compressor_;
  std::string file_;
  bool whole_ = false;
};

TEST_F(CompressorTest, GivesBackWhatCameIn) {
  const std::string text(1'000'000, 'x');
  ASSERT_TRUE(compressor_.add(as_bytes(text), to_file()));
  ASSERT_TRUE(compressor_.add(as_bytes("end"), to_file()));
  ASSERT_TRUE(compressor_.finish(to_file()));
  EXPECT_LT(file_.size(), text.size() / 100);
  EXPECT_EQ(plain(file_), text + "end");
  EXPECT_TRUE(whole_);
}

TEST_F(CompressorTest, CanBeReadUpToTheLastFlushWhereverItIsCut) {
  ASSERT_TRUE(compressor_.add(as_bytes("first "), to_file()));
  ASSERT_TRUE(compressor_.flush(to_file()));
  const auto flushed = file_.size();
  EXPECT_EQ(plain(file_), "first ");
  EXPECT_FALSE(whole_);
  ASSERT_TRUE(compressor_.add(as_bytes("second"), to_file()));
  ASSERT_TRUE(compressor_.finish(to_file()));
  for (auto cut = flushed; cut < file_.size(); ++cut)
    EXPECT_TRUE(plain(std::string_view{file_}.substr(0, cut)).starts_with("first ")) << cut;
}

TEST_F(CompressorTest, PassesAFailureOfTheOutputOn) {
  const auto full = [](Bytes) -> Result<> { return fail(Errc::kSystem, "full"); };
  ASSERT_TRUE(compressor_.add(as_bytes("text"), full));
  EXPECT_FALSE(compressor_.flush(full));
}

}  // namespace
}  // namespace clrscope
