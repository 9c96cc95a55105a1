#include "analyze/profile_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;

std::vector<std::string> names(const Profile& profile, StackNodeId stack) {
  std::vector<FrameId> ids;
  profile.frames_of(stack, ids);
  std::vector<std::string> out;
  for (const auto id : ids) out.push_back(profile.frame(id).method);
  return out;
}

Profile read(TestTrace& trace) {
  ProfileBuilder builder;
  trace.read_into(builder);
  return std::move(builder).finish();
}

TEST(ProfileBuilder, NamesStacksRootFirst) {
  TestTrace trace;
  trace.sample({.time = 1}, {0x1010, 0x2010});
  trace.method(kRundownName, 144, {.time = 9}, 0x1000, 0x100, "App", "Leaf");
  trace.method(kRundownName, 144, {.time = 9}, 0x2000, 0x100, "App", "Root");
  const auto profile = read(trace);
  ASSERT_EQ(profile.samples.size(), 1U);
  EXPECT_THAT(names(profile, profile.samples[0].stack), ElementsAre("App.Root()", "App.Leaf()"));
}

TEST(ProfileBuilder, SharesTheBeginningsOfStacks) {
  TestTrace trace;
  trace.sample({.time = 1}, {0x1010, 0x2010});
  trace.sample({.time = 2}, {0x1020, 0x2020});  // other places in the same methods
  trace.sample({.time = 3}, {0x2030});
  trace.method(kRundownName, 144, {.time = 9}, 0x1000, 0x100, "App", "Leaf");
  trace.method(kRundownName, 144, {.time = 9}, 0x2000, 0x100, "App", "Root");
  const auto profile = read(trace);
  EXPECT_EQ(profile.stacks.size(), 3U);  // the empty one, Root, Root;Leaf
  EXPECT_EQ(profile.samples[0].stack, profile.samples[1].stack);
  EXPECT_EQ(profile.node(profile.samples[0].stack).parent, profile.samples[2].stack);
}

TEST(ProfileBuilder, WeighsASampleByTheTimeToTheNextOfItsThread) {
  TestTrace trace;
  trace.sample({.time = 100, .thread = 1}, {0x1010});
  trace.sample({.time = 105, .thread = 2}, {0x1010});
  trace.sample({.time = 110, .thread = 1}, {0x1010});
  trace.sample({.time = 140, .thread = 1}, {0x1010});
  trace.sample({.time = 150, .thread = 1}, {0x1010});
  const auto profile = read(trace);
  ASSERT_EQ(profile.threads.size(), 2U);
  std::vector<std::int64_t> weights;
  for (const auto i : profile.threads[0].samples)
    weights.push_back(profile.samples[i].weight.count());
  EXPECT_THAT(weights, ElementsAre(10, 30, 10, 10)) << "the last one: the usual distance";
}

TEST(ProfileBuilder, TellsRunningFromWaiting) {
  TestTrace trace;
  trace.sample({.time = 1}, {0x1010}, 2);
  trace.sample({.time = 2}, {0x1010}, 1);
  trace.sample({.time = 3}, {0x1010}, 0);
  const auto profile = read(trace);
  EXPECT_EQ(profile.samples[0].state, ThreadState::kRunning);
  EXPECT_EQ(profile.samples[1].state, ThreadState::kWaiting);
  EXPECT_EQ(profile.samples[2].state, ThreadState::kUnknown);
}

TEST(ProfileBuilder, TakesTheKernelsSamplesWithNativeAndKernelFrames) {
  TestTrace trace;
  trace.event(kUniversalSystem, 0, 0, {.time = 0}, Payload{}.varuint(100).text8("shop").text8(""));
  trace.mapping({.time = 0}, 1, 0x20000, 0x21000, "/usr/lib/libfoo.so");
  trace.symbol({.time = 0}, 1, 0x20000, 0x200ff, "foo");
  trace.symbol({.time = 0}, 0, 0xffffffff81000000, 0xffffffff81000fff, "sys_read");
  trace.universal("cpu", {.time = 5}, 1, {0xffffffff81000010, 0x20010, 0x1010});
  trace.method(kRundownName, 144, {.time = 9}, 0x1000, 0x100, "App", "Work");
  const auto profile = read(trace);
  ASSERT_EQ(profile.samples.size(), 1U);
  EXPECT_THAT(names(profile, profile.samples[0].stack),
              ElementsAre("App.Work()", "foo", "sys_read"));
  EXPECT_EQ(profile.samples[0].state, ThreadState::kRunning);
  EXPECT_EQ(profile.samples[0].weight, std::chrono::milliseconds{1});
  ASSERT_EQ(profile.processes.size(), 1U);
  EXPECT_EQ(profile.processes[0].name, "shop");
}

TEST(ProfileBuilder, NamesACompiledExpressionByWhatTheRecorderReadOfIt) {
  constexpr std::uint32_t kDynamicAndJitted = 9;
  TestTrace trace;
  trace.mapping({.time = 0}, 1, 0x1000, 0x3000, "/memfd:doublemapper (deleted)");
  trace.method(kRundownName, 144, {.time = 9}, 0x1000, 0x100, "dynamicClass", "lambda_method8",
               kDynamicAndJitted);
  trace.method(kRundownName, 144, {.time = 9}, 0x2000, 0x100, "dynamicClass", "lambda_method9",
               kDynamicAndJitted);
  trace.symbol({.time = 9}, 1, 0x1000, 0x10ff, "? [Shop] lambda_method8 → Shop.Cart::Add(int)");
  trace.cpu_sample({.time = 5}, 800'000, {0x1010, 0x2010});
  const auto profile = read(trace);
  ASSERT_EQ(profile.samples.size(), 1U);
  EXPECT_THAT(names(profile, profile.samples[0].stack),
              ElementsAre("dynamicClass.lambda_method9()", "lambda_method8 → Shop.Cart.Add(int)"));
  const auto& named = profile.frame(profile.node(profile.samples[0].stack).frame);
  EXPECT_EQ(named.module, "Shop");
  EXPECT_EQ(named.kind, FrameKind::kManaged);
}

TEST(ProfileBuilder, FoldsNamelessFunctionsOfTheRuntimeThatMethodsCall) {
  TestTrace trace;
  trace.mapping({.time = 0}, 1, 0x20000, 0x21000, "/usr/share/dotnet/libcoreclr.so");
  trace.symbol({.time = 0}, 1, 0x20000, 0x200ff, "fn_1000");
  trace.symbol({.time = 0}, 1, 0x20100, 0x201ff, "fn_1100");
  trace.symbol({.time = 0}, 1, 0x20200, 0x202ff, "fn_1200");
  trace.symbol({.time = 9}, 1, 0x20200, 0x202ff, "CORINFO_HELP_STRCNS");
  trace.method(kRundownName, 144, {.time = 9}, 0x1000, 0x100, "App", "Work");
  trace.cpu_sample({.time = 5}, 800'000, {0x20010, 0x20110, 0x1010, 0x20120});
  trace.cpu_sample({.time = 6}, 800'000, {0x20210, 0x1010});
  const auto profile = read(trace);
  ASSERT_EQ(profile.samples.size(), 2U);
  EXPECT_THAT(names(profile, profile.samples[0].stack),
              ElementsAre("libcoreclr.so!fn_1100", "App.Work()", "libcoreclr.so![runtime helper]",
                          "libcoreclr.so!fn_1000"));
  EXPECT_THAT(names(profile, profile.samples[1].stack),
              ElementsAre("App.Work()", "CORINFO_HELP_STRCNS"));
}

TEST(ProfileBuilder, WeighsTheKernelsSamplesByTheTimeTheyStandFor) {
  TestTrace trace;
  trace.cpu_sample({.time = 1}, 800'000, {0x1010});
  trace.cpu_sample({.time = 2}, 800'000, {0x1010});
  trace.cpu_sample({.time = 3}, 1'200'000, {0x1010});
  const auto profile = read(trace);
  ASSERT_EQ(profile.samples.size(), 3U);
  EXPECT_TRUE(profile.by_kernel);
  EXPECT_EQ(profile.samples[1].weight.count(), 800'000);
  EXPECT_EQ(profile.samples[2].weight.count(), 1'200'000);
}

TEST(ProfileBuilder, CountsNoTimeTwiceWhereTheKernelSampledToo) {
  TestTrace trace;
  trace.sample({.time = 1}, {0x1010});
  trace.universal("cpu", {.time = 2}, 1, {0x1010});
  EXPECT_EQ(read(trace).samples.size(), 1U);
}

TEST(ProfileBuilder, OfATraceWithoutSamplesIsEmpty) {
  TestTrace trace;
  const auto profile = read(trace);
  EXPECT_TRUE(profile.samples.empty());
  EXPECT_EQ(profile.stacks.size(), 1U);
}

}  // namespace
}  // namespace clrscope::analyze
