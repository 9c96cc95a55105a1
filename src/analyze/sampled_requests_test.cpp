#include "analyze/sampled_requests.h"

#include <gtest/gtest.h>

namespace clrscope::analyze {
namespace {

TraceTime at(std::int64_t ms) { return TraceTime{std::chrono::milliseconds{ms}}; }

RequestBatch request_of(const char* path, std::int64_t begin, std::int64_t end,
                        std::uint32_t thread) {
  RequestTrace request{.path = path, .sampled = true, .begin = at(begin), .end = at(end)};
  request.parts = {{at(begin), at(end), thread}};
  return {.methods = {"Shop.Get"}, .requests = {request}};
}

TakenSamples samples_of(std::initializer_list<std::pair<int, std::uint32_t>> times) {
  TakenSamples taken{.stacks = {{0, 0}, {1, 1}}, .frames = {"Main()", "Shop.Get()"}};
  for (const auto& [time, thread] : times)
    taken.samples.push_back({at(time), thread, 2, std::chrono::milliseconds{10}});
  return taken;
}

std::string leaf_of(const RequestBatch& batch, const RequestSample& sample) {
  return batch.frames[batch.stacks[sample.stack - 1].frame];
}

TEST(SampledRequests, GetTheSamplesOfTheirThreadsAndTimes) {
  SampledRequests all;
  all.add_samples(samples_of({{12, 1}, {12, 2}, {50, 1}}), at(20));
  all.add(request_of("/a", 10, 30, 1), at(31));
  all.add(request_of("/b", 40, 60, 1), at(61));
  EXPECT_TRUE(all.take(at(62)).requests.empty());  // samples of their time may still come
  all.add_samples(samples_of({{29, 1}, {55, 2}}), at(100));
  const auto batch = all.take(at(101));
  ASSERT_EQ(batch.requests.size(), 2U);
  ASSERT_EQ(batch.requests[0].samples.size(), 2U);
  EXPECT_EQ(batch.requests[0].samples[0].time, at(12));
  EXPECT_EQ(batch.requests[0].samples[1].time, at(29));
  EXPECT_EQ(leaf_of(batch, batch.requests[0].samples[1]), "Shop.Get()");
  ASSERT_EQ(batch.requests[1].samples.size(), 1U);
  EXPECT_EQ(leaf_of(batch, batch.requests[1].samples[0]), "Shop.Get()");
  EXPECT_EQ(batch.methods, std::vector<std::string>{"Shop.Get"});
  EXPECT_EQ(all.lost(), 0U);
}

TEST(SampledRequests, DoNotWaitForEverAndCountWhatComesLater) {
  SampledRequests all;
  all.add(request_of("/a", 10, 30, 1), at(31));
  EXPECT_TRUE(all.take(at(5000)).requests.empty());
  EXPECT_EQ(all.take(at(5031)).requests.size(), 1U);
  all.add_samples(samples_of({{20, 1}, {31, 1}}), at(5100));
  EXPECT_EQ(all.lost(), 1U);
}

TEST(SampledRequests, WithoutTimesOfThreadsDoNotWait) {
  SampledRequests all;
  auto batch = request_of("/a", 10, 30, 1);
  batch.requests[0].parts.clear();
  all.add(std::move(batch), at(31));
  EXPECT_EQ(all.take(at(31)).requests.size(), 1U);
}

TEST(SampledRequests, HoldABoundedNumberOfSamples) {
  SampledRequests all{4};
  all.add_samples(samples_of({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}), at(10));
  all.add(request_of("/a", 0, 9, 1), at(9));
  const auto batch = all.take_all();
  ASSERT_EQ(batch.requests.size(), 1U);
  ASSERT_EQ(batch.requests[0].samples.size(), 3U);
  EXPECT_EQ(batch.requests[0].samples[0].time, at(4));
}

}  // namespace
}  // namespace clrscope::analyze
