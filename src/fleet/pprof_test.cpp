#include "fleet/pprof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/decompress.h"

namespace clrscope::fleet {
namespace {

using testing::HasSubstr;

std::string unpacked(const std::string& packed) {
  std::string out;
  Decompressor reader;
  const auto take = [&](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  };
  EXPECT_TRUE(reader.feed(as_bytes(packed), take));
  EXPECT_TRUE(reader.finish(take).value_or(false));
  return out;
}

// Another project's reader checks all of it: tests/fleet/check_pprof.py.
TEST(Pprof, WritesALeafFirstStackOnlyForNodesWithValues) {
  const store::Flame flame{.requests = 3,
                           .names = {"Main", "Work"},
                           .name = {0, 1},
                           .depth = {0, 1},
                           .self_ns = {0, 300},
                           .calls = {0, 2}};
  store::FlameQuery query{.selection = {.service = "shop", .route = "GET /a"}};
  const auto bytes = unpacked(*pprof_of(flame, query));
  // sample: locations 2 and 1, values 2 and 300
  EXPECT_THAT(bytes, HasSubstr(std::string{"\x12\x09\x0a\x02\x02\x01\x12\x03\x02\xac\x02", 11}));
  EXPECT_EQ(bytes.find(std::string{"\x12\x07\x0a\x01\x01", 5}), std::string::npos);
  EXPECT_THAT(bytes, HasSubstr("route: GET /a"));
  EXPECT_THAT(bytes, HasSubstr("calls"));
  query.weight = store::FlameWeight::kCpu;
  EXPECT_THAT(unpacked(*pprof_of(flame, query)), HasSubstr("samples"));
}

TEST(Pprof, RefusesStacksWhoseFileWouldBeHuge) {
  store::Flame flame{.names = {"Again"}};
  for (std::uint32_t i = 0; i < 7000; ++i) {
    flame.name.push_back(0);
    flame.depth.push_back(i);
    flame.self_ns.push_back(1);
    flame.calls.push_back(1);
  }
  const auto file = pprof_of(flame, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kTooLarge);
}

TEST(Pprof, OfNothingIsAValidFile) {
  const auto bytes = unpacked(*pprof_of({}, {}));
  EXPECT_THAT(bytes, HasSubstr("nanoseconds"));
  EXPECT_NE(bytes.find(std::string{"\x32\x00", 2}), std::string::npos);  // the first text is empty
}

}  // namespace
}  // namespace clrscope::fleet
