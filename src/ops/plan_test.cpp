#include "ops/plan.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

const PerfGrant kGranted{.works = true};
const PerfGrant kRefused{
    .works = false, .detail = "a seccomp filter refuses it", .hint = "allow it"};

bool has_provider(const Plan& plan, std::string_view name) {
  for (const auto& one : plan.selection.providers)
    if (one.provider.name == name) return true;
  return false;
}
constexpr std::string_view kSampler = "Microsoft-DotNETCore-SampleProfiler";

TEST(Plan, TakesTheKernelsSamplesWhenNothingIsAskedAndPerfMayBeUsed) {
  const auto plan = plan_recording({}, kGranted);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->kernel);
  EXPECT_EQ(plan->selection.kernel, KernelData::kCpuSamples);
  EXPECT_FALSE(has_provider(*plan, kSampler));
  EXPECT_TRUE(has_provider(*plan, "Microsoft-Windows-DotNETRuntime"));
  EXPECT_NE(plan->note.find("dotnet-common,cpu-sampling"), std::string::npos);
}

TEST(Plan, TakesWaitsOfTheMachineWhileTheyAreCheapWhenNothingIsAsked) {
  const PerfGrant machine{.works = true, .wanted = Wanted::kMachine};
  const auto plan = plan_recording({}, machine);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->waits_while_cheap);
  EXPECT_EQ(plan->rung.waits, WaitRung::kStacks);
  const auto asked = plan_recording({.profiles = "thread-time"}, machine);
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->waits_while_cheap);
  EXPECT_FALSE(plan_recording({}, kGranted)->waits_while_cheap);
}

TEST(Plan, TakesTheRuntimesSamplerWhenNothingIsAskedAndPerfIsRefused) {
  const auto plan = plan_recording({}, kRefused);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->kernel);
  EXPECT_TRUE(has_provider(*plan, kSampler));
  EXPECT_NE(plan->note.find("a seccomp filter refuses it"), std::string::npos);
  EXPECT_EQ(plan->hint, "allow it");
}

TEST(Plan, TakesTheAgentsSamplesWherePerfIsRefusedAndTheAgentWorks) {
  auto refused = kRefused;
  refused.agent.works = true;
  for (const auto& words : {ProviderWords{}, ProviderWords{.profiles = "thread-time"}}) {
    const auto plan = plan_recording(words, refused);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(plan->agent);
    EXPECT_FALSE(plan->kernel);
    EXPECT_FALSE(has_provider(*plan, kSampler));
    EXPECT_EQ(plan->rung.cpu, CpuRung::kAgent);
    EXPECT_EQ(sampling_of(*plan), Sampling::kAgent);
    EXPECT_NE(plan->note.find("a seccomp filter refuses it"), std::string::npos);
    EXPECT_NE(plan->note.find("the agent samples"), std::string::npos);
  }
  const auto other = plan_recording({.profiles = "gc-verbose"}, refused);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->agent);
}

TEST(Plan, SaysWhyTheAgentDoesNotSampleEither) {
  auto refused = kRefused;
  refused.agent.detail = "it is switched off";
  const auto plan = plan_recording({.profiles = "cpu-sampling"}, refused);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->agent);
  EXPECT_NE(plan->note.find("it is switched off"), std::string::npos);
  EXPECT_FALSE(*wants_samples({.profiles = "gc-verbose"}));
  EXPECT_TRUE(*wants_samples({.profiles = "gc-verbose,cpu-sampling"}));
}

TEST(Plan, SaysNothingWhenTheWordsAreFollowed) {
  const auto plan = plan_recording({.profiles = "gc-verbose"}, kRefused);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->kernel);
  EXPECT_TRUE(plan->note.empty());
  EXPECT_FALSE(has_provider(*plan, kSampler));
}

TEST(Plan, KeepsTheOtherProfilesWhenItStepsDown) {
  const auto plan = plan_recording(
      {.profiles = "gc-verbose,cpu-sampling,thread-time", .providers = {"X:1:4"}}, kRefused);
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->kernel);
  EXPECT_EQ(plan->selection.kernel, KernelData::kNothing);
  EXPECT_TRUE(has_provider(*plan, kSampler));
  EXPECT_TRUE(has_provider(*plan, "Microsoft-Windows-DotNETRuntime"));
  EXPECT_TRUE(has_provider(*plan, "X"));
  EXPECT_NE(plan->note.find("sampler"), std::string::npos);
}

TEST(Plan, RefusesAProfileThatDoesNotExist) {
  EXPECT_FALSE(plan_recording({.profiles = "cpu-samplign"}, kGranted));
}

}  // namespace
}  // namespace clrscope::ops
