#include "store/sqlite/chunk.h"

#include <gtest/gtest.h>

#include <random>

namespace clrscope::store {
namespace {

// Async methods that await their calls, and numbers that no program would have.
BatchSpans random_spans(std::mt19937& random, std::uint32_t count) {
  BatchSpans spans;
  const auto any = [&](std::uint64_t most) { return random() % most; };
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto steps = static_cast<std::uint32_t>(any(4));
    const auto begin = any(1'000'000), duration = any(1'000'000);
    spans.method.push_back(1);
    spans.parent.push_back(static_cast<std::uint32_t>(any(i + 1)));
    spans.begin.push_back(begin);
    spans.duration.push_back(duration);
    spans.self.push_back(any(20) == 0 ? std::uint64_t{1} << 40U : any(duration + 1));
    spans.queued.push_back(any(3) == 0 ? any(1000) : 0);
    spans.thread.push_back(static_cast<std::uint32_t>(any(5)));
    spans.kind.push_back(steps > 0 ? 4 : 0);
    spans.steps.push_back(steps);
    for (std::uint32_t k = 0; k < steps; ++k) {
      spans.step_begin.push_back(any(4) == 0 ? any(1'000'000) : begin + k * duration / 4);
      spans.step_duration.push_back(any(duration / 4 + 1));
      spans.step_thread.push_back(static_cast<std::uint32_t>(any(5)));
    }
  }
  return spans;
}

TEST(Chunk, GivesSpansAndStepsBackAsTheyWere) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random{seed};
    const auto count = static_cast<std::uint32_t>(1 + random() % 30);
    const auto spans = random_spans(random, count);
    const std::vector<std::uint32_t> paths(count, 1);
    ChunkRequest request{.duration = random(),
                         .running = random(),
                         .waiting = random(),
                         .spans = count,
                         .steps = static_cast<std::uint32_t>(spans.step_begin.size())};
    ChunkBuilder builder;
    for (int twice = 0; twice < 2; ++twice)
      builder.add({.request = request, .spans = spans, .paths = paths, .samples = {}}, 0);
    const auto blobs = builder.finish(1);
    const auto head = read_head(as_bytes(blobs.head)).value();
    EXPECT_EQ(head.waiting[1], request.waiting);
    EXPECT_EQ(head.running[1], request.running);
    const auto stacks = read_stacks(as_bytes(blobs.stacks)).value();
    const auto read = read_spans(head, 1, 1, stacks, as_bytes(blobs.rest)).value();
    EXPECT_EQ(read.begin, spans.begin);
    EXPECT_EQ(read.duration, spans.duration);
    EXPECT_EQ(read.self, spans.self);
    EXPECT_EQ(read.steps, spans.steps);
    EXPECT_EQ(read.step_begin, spans.step_begin);
    EXPECT_EQ(read.step_duration, spans.step_duration);
    EXPECT_EQ(read.step_thread, spans.step_thread);
  }
}

// PlaceAsync awaits QueryAsync: it stops when that does, and goes on when it has ended.
TEST(Chunk, HoldsNoTimesOfStepsThatFollowFromTheSpans) {
  const BatchSpans spans{.method = {1, 1},
                         .parent = {0, 1},
                         .thread = {7, 7},
                         .kind = {4, 4},
                         .steps = {2, 2},
                         .begin = {0, 1000},
                         .duration = {9'000'000, 8'000'000},
                         .self = {1000 + 999'000, 52'000},
                         .queued = {0, 0},
                         .step_begin = {0, 8'001'000, 1000, 7'999'000},
                         .step_duration = {51'000, 999'000, 50'000, 2000},
                         .step_thread = {7, 7, 7, 7}};
  const std::vector<std::uint32_t> paths(2, 1);
  const ChunkRequest request{.duration = 9'000'000, .spans = 2, .steps = 4};
  ChunkBuilder builder;
  std::mt19937 random{1};
  constexpr std::size_t kRequests = 2000;
  for (std::size_t i = 0; i < kRequests; ++i) {
    auto other = spans;  // the query takes another time
    const auto wait = random() % 100'000'000;
    other.duration[0] += wait;
    other.duration[1] += wait;
    other.step_begin[1] += wait;
    other.step_begin[3] += wait;
    builder.add({.request = request, .spans = other, .paths = paths, .samples = {}}, 0);
  }
  // The wait once, in the duration of the query: 27 bits in a varint.
  EXPECT_LT(builder.finish(3).rest.size(), kRequests * 5);
}

}  // namespace
}  // namespace clrscope::store
