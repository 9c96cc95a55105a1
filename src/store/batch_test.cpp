#include "store/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/request_stacks.h"
#include "store/test_batches.h"

namespace clrscope::store {
namespace {

using testing::HasSubstr;

TEST(BatchCheck, RefusesStacksThatAreTooDeep) {
  auto batch = make_batch({.requests = 1, .samples = 1});
  batch.stacks = {};
  for (std::uint32_t i = 0; i < kDeepestStack; ++i) {
    batch.stacks.parent.push_back(i);
    batch.stacks.method.push_back(1);
  }
  EXPECT_TRUE(check_batch(batch)) << check_batch(batch).error().what;
  batch.stacks.parent.push_back(kDeepestStack);
  batch.stacks.method.push_back(1);
  const auto refused = check_batch(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kCorrupt);
  EXPECT_THAT(refused.error().what, HasSubstr("a stack is deeper than 2048"));
}

TEST(BatchCheck, RefusesSpansThatAreTooDeepInOneRequest) {
  auto batch = make_batch({.requests = 2, .spans = kDeepestStack});
  for (std::size_t i = 0; i < batch.spans.parent.size(); ++i)
    batch.spans.parent[i] = static_cast<std::uint32_t>(i % kDeepestStack);
  EXPECT_TRUE(check_batch(batch)) << check_batch(batch).error().what;
  batch = make_batch({.requests = 1, .spans = kDeepestStack + 1});
  for (std::size_t i = 0; i < batch.spans.parent.size(); ++i)
    batch.spans.parent[i] = static_cast<std::uint32_t>(i);
  const auto refused = check_batch(batch);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("a stack is deeper than 2048"));
}

TEST(RequestStacks, AreCutBeforeTheirFramesAreMade) {
  constexpr std::uint32_t kMany = 5000;
  std::vector<std::uint32_t> paths(kMany), spans(kMany, 1);
  std::vector<std::uint64_t> weights(kMany);
  for (std::uint32_t i = 0; i < kMany; ++i) paths[i] = i + 1, weights[i] = i;
  std::size_t made = 0;
  StoredRequest request;
  add_stacks<std::uint32_t>(
      paths, spans, weights,
      [&](std::uint32_t path) {
        ++made;
        return std::vector{std::to_string(path)};
      },
      request);
  EXPECT_EQ(request.stacks.size(), 1000U);
  EXPECT_EQ(made, 1000U);
  EXPECT_EQ(request.stacks.front().frames, std::vector<std::string>{"5000"});  // the most CPU time
}

}  // namespace
}  // namespace clrscope::store
