#include "analyze/method_times.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

class MethodTimesTest : public testing::Test {
 protected:
  MethodTimes::Times of(std::string_view method) {
    MethodTimes::Times sum;
    for (std::uint32_t i = 0; i < times_.times().size(); ++i)
      if (times_.frames().frame(FrameId{i}).method == method) sum = times_.times()[i];
    return sum;
  }
  void rundown(std::uint64_t start, std::string_view name, std::int32_t process = 100) {
    trace_.method(kRundownName, 144, {.time = 900, .process = process}, start, 0x100, "App", name);
  }

  TestTrace trace_;
  MethodTimes times_;
};

TEST_F(MethodTimesTest, CountsSelfAndTotalByNamesThatComeLater) {
  trace_.sample({.time = 1}, {0x1010, 0x2010});
  trace_.sample({.time = 2}, {0x2020});
  rundown(0x1000, "Leaf");
  rundown(0x2000, "Root");
  trace_.read_into(times_);
  EXPECT_EQ(times_.samples().all.count, 2U);
  EXPECT_EQ(of("App.Leaf()").self.all.count, 1U);
  EXPECT_EQ(of("App.Root()").self.all.count, 1U);
  EXPECT_EQ(of("App.Root()").total.all.count, 2U);
}

TEST_F(MethodTimesTest, CountsRecursionOnce) {
  trace_.sample({.time = 1}, {0x1010, 0x1020, 0x1030});
  rundown(0x1000, "Fib");
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Fib()").total.all.count, 1U);
}

TEST_F(MethodTimesTest, TellsRunningFromWaiting) {
  trace_.sample({.time = 1}, {0x1010}, 2);
  trace_.sample({.time = 2}, {0x1010}, 1);
  trace_.sample({.time = 3}, {0x1010}, 1);
  rundown(0x1000, "Work");
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Work()").self.running.count, 1U);
  EXPECT_EQ(of("App.Work()").self.waiting.count, 2U);
}

TEST_F(MethodTimesTest, JudgesByTheMethodOnTopWhereTheSamplerCannotTell) {
  constexpr std::uint16_t kNet9[] = {0, 2, 9, 0, 1, 0};
  Payload runtime;
  for (const auto number : kNet9) runtime.add(number);
  trace_.event(kRundownName, 187, 0, {.time = 900}, runtime);
  trace_.sample({.time = 1}, {0x1010}, 1);
  trace_.sample({.time = 2}, {0x2010}, 1);
  rundown(0x1000, "Burn");
  trace_.method(kRundownName, 144, {.time = 900}, 0x2000, 0x100, "System.Threading.Monitor",
                "Wait");
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Burn()").self.running.count, 1U);
  EXPECT_EQ(of("System.Threading.Monitor.Wait()").self.waiting.count, 1U);
  EXPECT_EQ(times_.judged_by_top(), 2U);
}

TEST_F(MethodTimesTest, TakesTheKernelsSamplesOnlyWhereThereAreNoOthers) {
  trace_.universal("cpu", {.time = 1}, 1, {0x1010});
  trace_.universal("cpu", {.time = 2}, 1, {0x1010});
  rundown(0x1000, "Work");
  trace_.read_into(times_);
  EXPECT_EQ(times_.by_kernel(), 2U);
  EXPECT_EQ(of("App.Work()").self.running.count, 2U);

  TestTrace both;
  both.universal("cpu", {.time = 1}, 1, {0x1010});
  both.sample({.time = 2}, {0x1010});
  MethodTimes times;
  both.read_into(times);
  EXPECT_EQ(times.samples().all.count, 1U);
  EXPECT_EQ(times.by_kernel(), 0U);
}

TEST_F(MethodTimesTest, TellsTheSamplesOfTheAgentFromThoseOfTheKernel) {
  trace_.universal("sampled_by_agent", {.time = 1}, 499, {});
  trace_.universal("cpu", {.time = 2}, 1, {0x1010});
  trace_.read_into(times_);
  EXPECT_EQ(times_.by_kernel(), 1U);
  EXPECT_EQ(times_.by_agent(), 1U);

  TestTrace kernel;
  kernel.universal("cpu", {.time = 1}, 1, {0x1010});
  kernel.read_into(times_);
  EXPECT_EQ(times_.by_kernel(), 2U);
  EXPECT_EQ(times_.by_agent(), 1U);
}

TEST_F(MethodTimesTest, TakesAReturnAddressForTheCallBeforeIt) {
  trace_.sample({.time = 1}, {0x2010, 0x1100});  // the last call of Caller returns behind its end
  rundown(0x1000, "Caller");
  rundown(0x1100, "Neighbour");
  rundown(0x2000, "Callee");
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Caller()").total.all.count, 1U);
  EXPECT_EQ(of("App.Neighbour()").total.all.count, 0U);
}

TEST_F(MethodTimesTest, KeepsTheAddressesOfProcessesApart) {
  trace_.sample({.time = 1, .process = 100}, {0x1010});
  trace_.sample({.time = 2, .process = 200}, {0x1010});
  rundown(0x1000, "Mine", 100);
  rundown(0x1000, "Yours", 200);
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Mine()").self.all.count, 1U);
  EXPECT_EQ(of("App.Yours()").self.all.count, 1U);
}

TEST_F(MethodTimesTest, NamesCodeByTheTimeItWasThere) {
  trace_.method(kRuntimeName, 143, {.time = 5}, 0x1000, 0x100, "App", "First");
  trace_.sample({.time = 10}, {0x1010});
  trace_.method(kRuntimeName, 144, {.time = 15}, 0x1000, 0x100, "App", "First");
  trace_.method(kRuntimeName, 143, {.time = 20}, 0x0f80, 0x100, "App", "Second");
  trace_.sample({.time = 25}, {0x1020});
  trace_.read_into(times_);
  EXPECT_EQ(of("App.First()").self.all.count, 1U);
  EXPECT_EQ(of("App.Second()").self.all.count, 1U);
}

TEST_F(MethodTimesTest, SaysWhatHasNoNameAndNoStack) {
  trace_.sample({.time = 1}, {0x1010});
  trace_.sample({.time = 2}, {});
  trace_.read_into(times_);
  EXPECT_EQ(of("?").self.all.count, 1U);
  EXPECT_EQ(times_.without_stack(), 1U);
  EXPECT_EQ(times_.samples().all.count, 2U);
}

}  // namespace
}  // namespace clrscope::analyze
