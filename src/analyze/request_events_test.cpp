#include "analyze/request_events.h"

#include <gmock/gmock.h>

#include <cstring>

#include "analyze/request_recording.h"
#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using std::chrono::milliseconds;
using testing::SizeIs;

TraceTime at(std::int64_t ms) { return TraceTime{milliseconds{ms}}; }

RequestTrace sampled_request(std::uint64_t number) {
  RequestTrace out;
  out.number = number;
  out.trace_id = {0xab, 1, 2, 3};
  out.method = "GET";
  out.route = "/orders/{id}";
  out.path = "/orders/17é";
  out.error = "System.TimeoutException";
  out.status = 504;
  out.sampled = true;
  out.aborted = true;
  out.begin = at(1000);
  out.end = at(1100);
  out.running = milliseconds{40};
  out.waiting = milliseconds{60};
  out.queued = milliseconds{5};
  out.bytes_out = 11;
  out.spans_lost = 3;
  out.spans = {{.id = 0xffff'ffff'ffff'fff1,
                .parent = 0,
                .method = 1,
                .is_async = true,
                .outcome = SpanOutcome::kCancelled,
                .begin = at(1001),
                .end = at(1099),
                .queued = milliseconds{5},
                .steps = {{at(1001), at(1010), 7, {}}, {at(1090), at(1099), 8, milliseconds{5}}},
                .thread = 7},
               {.id = 9,
                .parent = 0xffff'ffff'ffff'fff1,
                .method = 0,
                .begin = at(1002),
                .end = at(1003),
                .thread = 7}};
  out.parts = {{at(1000), at(1010), 7, {}}, {at(1090), at(1120), 8, {}}};
  return out;
}

struct Written {
  std::string bytes{};
  nettrace::Writer writer{info(), [this](Bytes more) -> Result<> {
                            bytes += as_text(more);
                            return {};
                          }};
  RequestEventWriter events{writer, ProcessId{4312}};

  static nettrace::TraceInfo info() {
    nettrace::TraceInfo info;
    info.start = WallTime{std::chrono::seconds{1'000'000}};
    info.ticks_per_second = 1'000'000'000;
    info.process = ProcessId{4312};
    return info;
  }
  template <class Reads>
  void read_into(Reads& reads) {
    ASSERT_TRUE(writer.finish());
    nettrace::Reader reader;
    const auto on_batch = [&](const nettrace::Batch& batch) { reads.on_batch(reader, batch); };
    ASSERT_TRUE(reader.feed(as_bytes(bytes), on_batch));
    ASSERT_TRUE(reader.finish(on_batch));
    EXPECT_EQ(reader.summary().damaged, 0U);
    reads.end_of_trace(reader);
  }
};

TEST(RequestEvents, ComeBackAsTheyWere) {
  Written written;
  auto plain = sampled_request(0);
  plain.sampled = false;
  plain.spans.clear();
  plain.parts.clear();
  plain.error.clear();
  plain.status = 200;
  const RequestBatch batch{.methods = {"Shop.Total", "Shop.PlaceAsync"},
                           .requests = {sampled_request(5), plain, sampled_request(6)}};
  ASSERT_TRUE(written.events.write(batch));
  RequestProfile counted{.duration = milliseconds{2000}, .seen = 4, .sampled = 2};
  counted.lost.late = 9;
  counted.cost.hearing = milliseconds{7};
  counted.methods.chosen = 2;
  counted.methods.refused = 2;
  counted.methods.not_measured = {
      {.method = "Shop.Print", .reason = "variableArguments"},
      {.method = "Shop.Sum", .reason = "refusedByRuntime", .code = "0x80004005"}};
  ASSERT_TRUE(written.events.finish(counted, at(3000)));

  // Straight, and through the file: the same profile.
  RequestTally straight;
  straight.add(batch);
  RequestRecording recording;
  written.read_into(recording);
  const auto profile = recording.profile();
  const auto requests = straight.requests([](TraceTime time) {
    return WallTime{std::chrono::seconds{1'000'000}} + time.time_since_epoch();
  });
  EXPECT_EQ(json_text(profile.requests), json_text(requests));
  EXPECT_THAT(profile.requests, SizeIs(2));
  EXPECT_EQ(json_text(profile.routes), json_text(straight.routes(milliseconds{2000})));
  EXPECT_EQ(profile.seen, 4U);
  EXPECT_EQ(profile.lost.late, 9U);
  EXPECT_EQ(profile.lost.damaged, 0U);
  EXPECT_EQ(profile.methods.chosen, 2U);
  // In the order for reading.
  std::ranges::reverse(counted.methods.not_measured);
  EXPECT_EQ(json_text(profile.methods), json_text(counted.methods));
  EXPECT_EQ(profile.pid, 4312);
  EXPECT_EQ(profile.cost.hearing, milliseconds{7});
}

TEST(RequestEvents, CountWhatIsThereWhenTheRecordingWasCutShort) {
  Written written;
  ASSERT_TRUE(written.events.write({.methods = {"a", "b"}, .requests = {sampled_request(5)}}));
  RequestRecording recording;
  written.read_into(recording);
  EXPECT_EQ(recording.profile().seen, 1U);
  EXPECT_THAT(recording.profile().notes, SizeIs(1));
}

Payload older_summary() {
  Payload out;
  out.add(2'000'000L).add(4UL).add(2UL).add(0UL).add(0UL).add(500'000U);
  for (int i = 0; i < 6; ++i) out.add(0UL);  // losses
  out.add(50L).add(1000L);                   // costs
  for (int i = 0; i < 3; ++i) out.add(3UL);  // methods
  return out;
}

TEST(RequestEvents, DoNotSayWhatAnOlderRecordingDoesNotHave) {
  TestTrace trace;
  trace.event("Clrscope-Requests", 6, 0, {.time = 10}, older_summary());
  RequestRecording recording;
  trace.read_into(recording);
  const auto profile = recording.profile();
  EXPECT_EQ(profile.seen, 4U);
  EXPECT_EQ(profile.cost.hooks.count(), 50);
  EXPECT_EQ(profile.methods.refused, 3U);
  EXPECT_FALSE(profile.cost.hearing);
  EXPECT_EQ(json_text(profile).find("hearingMs"), std::string::npos);
  EXPECT_EQ(profile.lost.damaged, 0U);
}

// Of a recording that somebody made to take memory.
TEST(RequestEvents, HoldFewMethodsThatWereNotMeasuredAndNoLongNames) {
  TestTrace trace;
  const std::string long_name(5000, 'x');
  trace.event("Clrscope-Requests", 7, 0, {.time = 1}, Payload{}.text(long_name).text("r").text(""));
  trace.event("Clrscope-Requests", 7, 0, {.time = 1},
              Payload{}.text("a").text("r").text(long_name));
  for (int i = 0; i < 1500; ++i)
    trace.event("Clrscope-Requests", 7, 0, {.time = 1}, Payload{}.text("a").text("r").text(""));
  trace.event("Clrscope-Requests", 1, 0, {.time = 1}, Payload{}.add(1U).text(long_name));
  trace.event("Clrscope-Requests", 6, 0, {.time = 10}, older_summary());
  RequestRecording recording;
  trace.read_into(recording);
  const auto profile = recording.profile();
  EXPECT_THAT(profile.methods.not_measured, SizeIs(1000));
  EXPECT_EQ(profile.lost.damaged, 2U + 500U + 1U);
}

TEST(RequestEvents, HoldNamesOfMethodsUpToALimit) {
  constexpr std::uint32_t kEvents = 4200;
  constexpr std::size_t kLength = 4096, kMost = 16 << 20;
  const EventType type{.provider = "Clrscope-Requests", .name = "Method", .id = 1, .fields = {}};
  RequestEventReader reader{[](RequestTrace) {}};
  std::vector<std::uint8_t> payload(4 + (kLength + 1) * 2);
  for (std::size_t i = 0; i < kLength; ++i) payload[4 + i * 2] = 'x';
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    std::memcpy(payload.data(), &i, 4);
    for (std::size_t digit = 0; digit < 4; ++digit)
      payload[4 + digit * 2] = static_cast<std::uint8_t>('a' + (i >> digit * 4) % 16);
    Event event{};
    event.type = &type;
    event.payload = payload;
    reader.on_event(event);
  }
  EXPECT_EQ(reader.damaged(), kEvents - kMost / kLength);
  EXPECT_EQ(reader.methods().size(), kMost / kLength);
}

TEST(RequestEvents, CountDamagedOnesAndGoOn) {
  TestTrace trace;
  for (std::uint32_t id = 1; id <= 8; ++id)
    trace.event("Clrscope-Requests", id, 0, {.time = 10}, Payload{}.add(std::uint32_t{1}));
  trace.event("Clrscope-Requests", 3, 0, {.time = 11},  // a step without its span
              Payload{}.add(1UL).add(2UL).add(3L).add(4L).add(5L));
  RequestRecording recording;
  trace.read_into(recording);
  EXPECT_EQ(recording.profile().lost.damaged, 8U);
  EXPECT_EQ(recording.profile().seen, 0U);
}

}  // namespace
}  // namespace clrscope::analyze
