#include "store/keep_requests.h"

#include <gtest/gtest.h>

#include "store/test_batches.h"

namespace clrscope::store {
namespace {

TEST(KeepRequests, TakesOutTheRowsOfTheOthers) {
  auto batch = make_batch({.requests = 4, .spans = 3, .samples = 2});
  // Steps: request i has i of them, all of its first span.
  for (std::uint32_t i = 0; i < 4; ++i) {
    batch.requests[i].steps = i;
    batch.spans.steps[i * 3] = i;
    for (std::uint32_t k = 0; k < i; ++k) {
      batch.spans.step_begin.push_back(i * 10);
      batch.spans.step_duration.push_back(1);
      batch.spans.step_thread.push_back(7);
    }
  }
  ASSERT_TRUE(check_batch(batch));
  const auto whole = batch;
  keep_requests(batch, {false, true, false, true});
  ASSERT_TRUE(check_batch(batch));
  ASSERT_EQ(batch.requests.size(), 2U);
  EXPECT_EQ(batch.requests[1].trace_id, whole.requests[3].trace_id);
  ASSERT_EQ(batch.spans.method.size(), 6U);
  EXPECT_EQ(batch.spans.self[0], whole.spans.self[3]);
  EXPECT_EQ(batch.spans.self[5], whole.spans.self[11]);
  EXPECT_EQ(batch.spans.step_begin, (std::vector<std::uint64_t>{10, 30, 30, 30}));
  EXPECT_EQ(batch.samples.stack.size(), 4U);
  EXPECT_EQ(batch.samples.stack[2], whole.samples.stack[6]);

  keep_requests(batch, {false, false});
  EXPECT_TRUE(check_batch(batch));
  EXPECT_TRUE(batch.spans.method.empty());
}

}  // namespace
}  // namespace clrscope::store
