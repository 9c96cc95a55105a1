#include "analyze/waits.h"

#include <gtest/gtest.h>

#include "analyze/report.h"
#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

class WaitsTest : public testing::Test {
 protected:
  FrameId kernel(std::string name) {
    return table_.intern({std::move(name), "[kernel]", FrameKind::kKernel});
  }
  FrameId runtime() { return table_.intern({"?", "libcoreclr.so", FrameKind::kRuntime}); }
  FrameId framework(std::string name) {
    return table_.intern({std::move(name), "System.Private.CoreLib", FrameKind::kFramework});
  }
  FrameId app() { return table_.intern({"App.Work()", "App", FrameKind::kManaged}); }
  WaitReason reason(const std::vector<FrameId>& frames) { return wait_reason(table_, frames); }

  FrameTable table_;
};

TEST_F(WaitsTest, KnowsWhatIsWaitedForByTheFrameworksMethod) {
  EXPECT_EQ(reason({kernel("schedule"), kernel("futex_wait"), runtime(),
                    framework("System.Threading.Monitor.Enter(object)"), app()}),
            WaitReason::kLock);
  EXPECT_EQ(reason({kernel("futex_wait"), runtime(),
                    framework("System.Threading.Monitor.Wait(object, int)"), app()}),
            WaitReason::kEvent);
  EXPECT_EQ(reason({kernel("hrtimer_nanosleep"), framework("System.Threading.Thread.Sleep(int)")}),
            WaitReason::kSleep);
}

TEST_F(WaitsTest, KnowsWhatOnlyTheKernelKnows) {
  EXPECT_EQ(reason({kernel("schedule"), kernel("irqentry_exit_to_user_mode"), app()}),
            WaitReason::kRunQueue);
  EXPECT_EQ(
      reason({kernel("io_schedule"), kernel("filemap_fault"), kernel("exc_page_fault"), app()}),
      WaitReason::kPageFault);
  EXPECT_EQ(reason({kernel("schedule"), kernel("ep_poll")}), WaitReason::kIo);
}

TEST_F(WaitsTest, DoesNotGuessWhatTheRuntimeWaitedFor) {
  EXPECT_EQ(reason({kernel("futex_wait"), runtime(), app()}), WaitReason::kLockOrRuntime);
  EXPECT_EQ(reason({kernel("futex_wait")}), WaitReason::kLockOrEvent);
  EXPECT_EQ(reason({app()}), WaitReason::kUnknown);
  EXPECT_EQ(reason({}), WaitReason::kUnknown);
}

TEST_F(WaitsTest, NamesTheApplicationsMethodAsThePlace) {
  const std::vector<FrameId> frames{kernel("futex_wait"), runtime(),
                                    framework("System.Threading.Monitor.Enter(object)"), app()};
  EXPECT_EQ(table_.frame(wait_site(table_, frames)).method, "App.Work()");
}

TEST_F(WaitsTest, NamesWhatCalledTheSchedulerWhereOnlyTheKernelIsKnown) {
  const std::vector<FrameId> frames{kernel("__schedule"), kernel("schedule"), kernel("pipe_read")};
  EXPECT_EQ(table_.frame(wait_site(table_, frames)).method, "pipe_read");
}

TEST_F(WaitsTest, AddsUpByPlaceAndThread) {
  TestTrace trace;
  trace.universal("cswitch", {.time = 1'000'000, .thread = 1}, 700, {0x1010});
  trace.universal("cswitch", {.time = 2'000'000, .thread = 1}, 300, {0x1010});
  trace.universal("cswitch", {.time = 3'000'000, .thread = 2}, 900, {0x1020});
  trace.universal("cpu", {.time = 3'000'001, .thread = 2}, 1, {0x1020});
  trace.method(kRundownName, 144, {.time = 9'000'000}, 0x1000, 0x100, "App", "Work");
  Waits waits;
  trace.read_into(waits);
  EXPECT_EQ(waits.all().count, 3U);
  EXPECT_EQ(waits.all().ns, 1900U);
  ASSERT_EQ(waits.by_site().size(), 1U);
  const auto& [site, sum] = *waits.by_site().begin();
  EXPECT_EQ(waits.frame(site.frame).method, "App.Work()");
  EXPECT_EQ(sum.longest_ns, 900U);
  EXPECT_EQ(waits.threads()[sum.longest_thread].thread, ThreadId{2});
  EXPECT_EQ(waits.by_thread()[0].waits.ns, 1000U);
  EXPECT_EQ(waits.by_thread()[1].cpu_samples, 1U);
}

TEST_F(WaitsTest, ReportsThreadsBusiestFirst) {
  TestTrace trace;
  trace.name_thread({.thread = 7}, "busy");
  trace.universal("cswitch", {.time = 10, .thread = 1}, 5'000'000, {});
  trace.universal("cpu", {.time = 11, .thread = 7}, 1, {});
  const auto report = find_report("threads")->make({});
  trace.read_into(*report);
  const auto page = report->page();
  ASSERT_EQ(page.tables.size(), 1U);
  ASSERT_EQ(page.tables[0].rows.size(), 2U);
  EXPECT_EQ(page.tables[0].rows[0][5], "busy");
  EXPECT_EQ(page.tables[0].rows[1][1], "5.00 ms");
}

}  // namespace
}  // namespace clrscope::analyze
