#include "ops/sampler.h"

#include <gtest/gtest.h>

#include "ops/agent_heap.h"

namespace clrscope::ops {
namespace {

const ProviderWords kCpu{.profiles = "cpu-sampling"};
const PerfGrant kRefused{.works = false, .detail = "a seccomp filter refuses it"};

TEST(Sampler, HasANameForEachSource) {
  EXPECT_EQ(parse_sampler("agent").value(), Sampler::kAgent);
  EXPECT_EQ(parse_sampler("best").value(), Sampler::kBest);
  ASSERT_FALSE(parse_sampler("kernel"));
  EXPECT_EQ(parse_sampler("kernel").error().code, Errc::kUsage);
}

TEST(Sampler, LoadsNoAgentIntoTheWholeMachineUnlessItIsNamed) {
  Target machine;
  auto grant = kRefused;
  const auto agents =
      choose_sampler({.may_load_agent = true, .whole_machine = true}, kCpu, machine, grant);
  ASSERT_TRUE(agents);
  EXPECT_TRUE(agents->empty());
  EXPECT_NE(plan_recording(kCpu, grant)->note.find("--sampler agent"), std::string::npos);
}

TEST(Sampler, LoadsNoAgentWhereTheCallerMayNot) {
  Target target;
  auto grant = kRefused;
  const auto agents = choose_sampler({.may_load_agent = false}, kCpu, target, grant);
  ASSERT_TRUE(agents);
  EXPECT_TRUE(agents->empty());
  EXPECT_FALSE(plan_recording(kCpu, grant)->agent);
}

TEST(Sampler, WithoutCpuSamplesOrWithTheRuntimesSamplerThereIsNothingToLoad) {
  Target target;
  auto grant = kRefused;
  EXPECT_TRUE(
      choose_sampler({.sampler = Sampler::kAgent}, {.profiles = "gc-verbose"}, target, grant)
          ->empty());
  grant = {.works = true};
  EXPECT_TRUE(choose_sampler({.sampler = Sampler::kRuntime}, kCpu, target, grant)->empty());
  EXPECT_FALSE(grant.works);
}

TEST(Sampler, PerfThatIsRefusedIsAnErrorIfItIsNamed) {
  Target target;
  auto grant = kRefused;
  const auto agents = choose_sampler({.sampler = Sampler::kPerf}, kCpu, target, grant);
  ASSERT_FALSE(agents);
  EXPECT_NE(agents.error().what.find("a seccomp filter refuses it"), std::string::npos);
}

TEST(AgentHeap, EventsAndReferencesPauseLonger) {
  const auto walk = expected_heap_pause(1 << 20, false, false);
  EXPECT_GT(walk.count(), 0);
  EXPECT_GT(expected_heap_pause(1 << 20, false, true), walk);
  EXPECT_GT(expected_heap_pause(1 << 20, true, false), walk);
  EXPECT_GT(expected_heap_pause(1 << 30, false, false), walk);
}

}  // namespace
}  // namespace clrscope::ops
