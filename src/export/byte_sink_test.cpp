#include "export/byte_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/fd.h"

namespace clrscope::exports {
namespace {

TEST(ByteSink, GathersTextAndNumbers) {
  std::string text;
  ByteSink out{text};
  out.write("a").number(-5).write(" ").thousandths(12'345).write(" ").thousandths(7000);
  out.write(" ").thousandths(1).write(" ").thousandths(50);
  EXPECT_EQ(out.bytes(), 24U);
  ASSERT_TRUE(out.finish());
  EXPECT_EQ(text, "a-5 12.345 7 0.001 0.050");
}

TEST(ByteSink, KeepsTheOrderOfSmallAndLargePieces) {
  std::string text, expected;
  ByteSink out{text};
  for (std::size_t size : {1UL, 200'000UL, 100'000UL, 700'000UL, 3UL, 262'144UL}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    out.write(piece);
    expected += piece;
  }
  ASSERT_TRUE(out.finish());
  EXPECT_EQ(out.bytes(), expected.size());
  EXPECT_TRUE(text == expected);
}

TEST(ByteSink, TellsOfAFullDisk) {
  const UniqueFd full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(full);
  ByteSink out{full.get()};
  out.write("text");
  EXPECT_TRUE(out.ok());
  const auto done = out.finish();
  ASSERT_FALSE(done);
  EXPECT_FALSE(out.ok());
  EXPECT_NE(done.error().what.find("No space left"), std::string::npos);
}

}  // namespace
}  // namespace clrscope::exports
