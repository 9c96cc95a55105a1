#include "fleet/replay.h"

#include <gtest/gtest.h>

#include <set>

#include "uplink/frame.h"

namespace clrscope::fleet {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kSecond = 1'000'000'000;

// Batches of one host, two seconds apart, of two requests each.
std::string recorded(int batches) {
  std::string frames;
  for (int i = 0; i < batches; ++i) {
    v1::RequestBatch batch;
    batch.mutable_source()->set_host("web-1");
    batch.mutable_source()->set_service("shop");
    batch.mutable_source()->set_instance("0123456789abcdef");
    batch.set_created_unix_ns((1000 + 2 * static_cast<std::uint64_t>(i)) * kSecond);
    for (int r = 0; r < 2; ++r) {
      auto& request = *batch.add_requests();
      request.set_trace_id(std::string(16, static_cast<char>('a' + 2 * i + r)));
      request.set_begin_unix_ns(batch.created_unix_ns() - kSecond);
      request.mutable_spans()->add_method(1);
    }
    frames += uplink::frame_of(uplink::FrameKind::kBatch, batch.SerializeAsString());
  }
  return frames + uplink::frame_of(uplink::FrameKind::kEnd, "");
}

v1::RequestBatch parsed(const std::string& bytes) {
  v1::RequestBatch batch;
  EXPECT_TRUE(batch.ParseFromString(bytes));
  return batch;
}

TEST(ReplayedHosts, SendAsOftenAsTheRecordedOne) {
  const auto hosts = ReplayedHosts::read(recorded(3), 100, 1);
  ASSERT_TRUE(hosts);
  EXPECT_DOUBLE_EQ(hosts->per_second(), 50);  // each one every two seconds
}

TEST(ReplayedHosts, HaveNamesTimesAndCountsOfTheirOwn) {
  auto hosts = ReplayedHosts::read(recorded(2), 3, 1);
  ASSERT_TRUE(hosts);
  const WallTime now{seconds{5000}};
  std::set<std::string> names, instances, traces;
  v1::RequestBatch last;
  for (int i = 0; i < 3 * 2 * 2; ++i) {  // two rounds
    last = parsed(hosts->next(now));
    names.insert(last.source().host());
    instances.insert(last.source().instance());
    for (const auto& request : last.requests()) {
      traces.insert(request.trace_id());
      EXPECT_EQ(request.begin_unix_ns(), 4999 * kSecond);
    }
    EXPECT_EQ(last.created_unix_ns(), 5000 * kSecond);
  }
  EXPECT_EQ(names, (std::set<std::string>{"host-00000", "host-00001", "host-00002"}));
  EXPECT_EQ(instances.size(), 3U);
  EXPECT_EQ(traces.size(), 3U * 2 * 2 * 2);
  EXPECT_EQ(last.source().host(), "host-00002");
  EXPECT_EQ(last.written_requests(), 8U);
  EXPECT_EQ(last.written_spans(), 8U);
}

TEST(ReplayedHosts, LeaveOutWhatIsNoBatch) {
  const auto state = uplink::frame_of(uplink::FrameKind::kState, R"({"host":"web-1"})");
  const auto hosts = ReplayedHosts::read(state + recorded(3), 100, 1);
  ASSERT_TRUE(hosts) << hosts.error().what;
  EXPECT_DOUBLE_EQ(hosts->per_second(), 50);
}

TEST(ReplayedHosts, RefuseARecordingWithoutBatches) {
  EXPECT_FALSE(ReplayedHosts::read("nothing", 3, 1));
}

}  // namespace
}  // namespace clrscope::fleet
