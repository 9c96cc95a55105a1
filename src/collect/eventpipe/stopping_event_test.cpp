#include "collect/eventpipe/stopping_event.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/test_data.h"

namespace clrscope::collect {
namespace {

bool found(StoppingEventRequest request) {
  const auto trace = read_file(test_data("nettrace/net10-v4.nettrace")).value();
  StoppingEvent stopping{std::move(request)};
  nettrace::Reader reader;
  bool hit = false;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    hit = hit || stopping.found_in(batch, reader);
  };
  EXPECT_TRUE(reader.feed(as_bytes(trace), on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  return hit;
}

constexpr const char* kRuntime = "Microsoft-Windows-DotNETRuntime";

TEST(StoppingEvent, IsFoundByProvider) {
  EXPECT_TRUE(found({.provider = kRuntime}));
  EXPECT_FALSE(found({.provider = "Nobody"}));
}

TEST(StoppingEvent, IsFoundByEitherOfItsNames) {
  EXPECT_TRUE(found({.provider = kRuntime, .event = "GC/Start"}));
  EXPECT_TRUE(found({.provider = kRuntime, .event = "GCStart_V2"}));
  EXPECT_FALSE(found({.provider = kRuntime, .event = "Method/Nonsense"}));
}

TEST(StoppingEvent, MustHaveWhatTheFilterSays) {
  const auto request = [](std::string value) {
    return StoppingEventRequest{
        .provider = kRuntime, .event = "GC/Start", .fields = {{"Reason", std::move(value)}}};
  };
  EXPECT_TRUE(found(request("Induced")));
  EXPECT_FALSE(found(request("Nonsense")));
}

TEST(StoppingEvent, ReadsAFilterOfSeveralFields) {
  const auto fields = parse_payload_filter("a:1, b:x:y");
  ASSERT_TRUE(fields);
  EXPECT_EQ(*fields, (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", "x:y"}}));
  EXPECT_FALSE(parse_payload_filter("a"));
  EXPECT_FALSE(parse_payload_filter(":1"));
}

}  // namespace
}  // namespace clrscope::collect
