#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/otlp_profiles.h"
#include "fleet/otlp_receiver.h"
#include "fleet/otlp_spans.h"
#include "store/test_batches.h"

namespace clrscope::fleet {
namespace {

using testing::HasSubstr;

const WallTime kNow{std::chrono::seconds{1'800'000'000}};
const WallTime kOldest = kNow - std::chrono::hours{1};

std::string json_of(const std::string& fields) {
  return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{)" + fields + "}]}]}]}";
}

constexpr const char* kGood =
    R"("traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1B174",)"
    R"("parentSpanId":"eee19b7ec3c1b173","name":"n","kind":"SPAN_KIND_SERVER",)"
    R"("startTimeUnixNano":"1799999999000000000","endTimeUnixNano":1799999999000000500)";

TEST(OtlpJson, ReadsHexadecimalIds) {
  const auto request = parse_otlp_json(json_of(kGood));
  ASSERT_TRUE(request) << request.error().what;
  const auto done = convert_otlp(*request, kOldest, kNow);
  ASSERT_EQ(done.spans.size(), 1U) << done.reason;
  const auto& span = done.spans[0];
  EXPECT_EQ(span.trace[0], 0x5b);
  EXPECT_EQ(span.trace[15], 0x0c);
  EXPECT_EQ(span.span_id, "eee19b7ec3c1b174");
  EXPECT_EQ(span.parent_id, "eee19b7ec3c1b173");
  EXPECT_EQ(span.kind, "server");
  EXPECT_EQ(span.service, "unknown_service");
  EXPECT_EQ(span.duration.count(), 500);
}

TEST(OtlpJson, RejectsIdsThatAreNotHexadecimal) {
  for (const auto* fields :
       {R"("traceId":"5B8EFFF798038103D269B633813FC60","spanId":"EEE19B7EC3C1B174")",
        R"("traceId":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz","spanId":"EEE19B7EC3C1B174")",
        R"("traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"EEE19B7EC3C1")",
        R"("traceId":"00000000000000000000000000000000","spanId":"EEE19B7EC3C1B174")"}) {
    const auto request = parse_otlp_json(
        json_of(std::string{fields} + R"(,"startTimeUnixNano":"1799999999000000000")"));
    ASSERT_TRUE(request) << request.error().what;
    const auto done = convert_otlp(*request, kOldest, kNow);
    EXPECT_EQ(done.rejected, 1U) << fields;
    EXPECT_THAT(done.reason, HasSubstr("_id must be"));
  }
}

TEST(OtlpConversion, RejectsSpansOutOfTheTimeThatIsKept) {
  otlp::ExportTraceServiceRequest request;
  auto& spans = *request.add_resource_spans()->add_scope_spans();
  for (const auto begin :
       {kOldest - std::chrono::seconds{1}, kNow, kNow + std::chrono::hours{25}}) {
    auto& span = *spans.add_spans();
    span.set_trace_id("0123456789abcdef");
    span.set_span_id("01234567");
    span.set_start_time_unix_nano(static_cast<std::uint64_t>(begin.time_since_epoch().count()));
  }
  spans.mutable_spans(1)->set_end_time_unix_nano(5);  // before it began
  const auto done = convert_otlp(request, kOldest, kNow);
  EXPECT_EQ(done.rejected, 2U);
  ASSERT_EQ(done.spans.size(), 1U);
  EXPECT_EQ(done.spans[0].duration.count(), 0);
}

TEST(OtlpSpans, AreTheRequestsOfABatch) {
  const auto batch = store::make_batch({.requests = 3, .spans = 4});
  const auto messages = otlp_messages(batch);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].spans, 15U);
  otlp::ExportTraceServiceRequest request;
  ASSERT_TRUE(request.ParseFromString(messages[0].bytes));
  const auto now = WallTime{std::chrono::nanoseconds{batch.requests[0].begin}};
  const auto back = convert_otlp(request, now - std::chrono::hours{1}, now);
  ASSERT_EQ(back.spans.size(), 15U) << back.reason;
  EXPECT_EQ(back.spans[0].service, "shop");
  EXPECT_EQ(back.spans[0].name, "GET /route/0");
  EXPECT_EQ(back.spans[1].parent_id, back.spans[0].span_id);
  std::set<std::string> ids;
  for (const auto& span : back.spans) ids.insert(span.span_id);
  EXPECT_EQ(ids.size(), 15U);
  EXPECT_EQ(otlp_messages(batch)[0].bytes, messages[0].bytes);
}

TEST(OtlpSpans, OfALargeBatchAreSeveralMessages) {
  const auto messages = otlp_messages(store::make_batch({.requests = 1000, .spans = 9}));
  EXPECT_EQ(messages.size(), 3U);
  for (const auto& message : messages) EXPECT_LT(message.bytes.size(), 1U << 20U);
}

TEST(OtlpProfile, HasTheSamplesOfABatch) {
  EXPECT_FALSE(otlp_profile(store::make_batch({.requests = 3})));
  const auto batch = store::make_batch({.requests = 3, .samples = 4});
  const auto bytes = otlp_profile(batch);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(otlp_profile(batch), bytes);
  EXPECT_THAT(*bytes, HasSubstr("nanoseconds"));
  EXPECT_THAT(*bytes, HasSubstr(batch.names[batch.stacks.method[0] - 1]));
  EXPECT_THAT(*bytes, HasSubstr(otlp_span_id(batch, 2, 1))) << "a sample links to its span";
}

}  // namespace
}  // namespace clrscope::fleet
