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

TEST_F(WaitsTest, PrefersACompiledExpressionToTheFrameworkThatItCalls) {
  const std::vector<FrameId> frames{
      kernel("futex_wait"), framework("System.Threading.Monitor.Wait(object, int)"),
      table_.intern(
          {.method = "dynamicClass.lambda_method8(?, object, ?)", .kind = FrameKind::kDynamic}),
      framework("Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke()")};
  EXPECT_EQ(table_.frame(wait_site(table_, frames)).method,
            "dynamicClass.lambda_method8(?, object, ?)");
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
  EXPECT_EQ(waits.by_thread()[1].cpu.count, 1U);
}

TEST_F(WaitsTest, SaysUntilWhenTheyWereRecorded) {
  TestTrace trace;
  trace.universal("cswitch", {.time = 1'000'000, .thread = 1}, 700, {0x1010});
  trace.universal("waits_ended", {.time = 2'000'000, .thread = 7}, 65'000, {});
  trace.universal("cpu", {.time = 9'000'000, .thread = 1}, 1, {0x1010});
  Waits waits;
  trace.read_into(waits);
  ASSERT_TRUE(waits.source().waits_ended());
  EXPECT_EQ(waits.source().waits_ended()->per_second, 65'000U);
  EXPECT_EQ(waits.source().waits_ended()->recorded, std::chrono::milliseconds{2});
  EXPECT_EQ(waits.all().count, 1U);
}

// Without the kernel's stacks: by thread and time, the runtime's events say where and why.
class ToldWaitsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBook = 0x1010, kTake = 0x2010;

  void lock(std::int64_t from, std::int64_t to) {
    const auto start = Payload{}.add(std::uint8_t{0}).add(std::uint16_t{0}).add(std::uint64_t{1});
    trace_.event(kRuntimeName, 81, 1, {.time = from}, start, {kBook});
    trace_.event(kRuntimeName, 91, 1, {.time = to},
                 Payload{}.add(std::uint8_t{0}).add(std::uint16_t{0}).add(1.0));
  }
  void handle(std::int64_t from, std::int64_t to) {
    const auto start = Payload{}.add(std::uint8_t{0}).add(std::uint64_t{1}).add(std::uint16_t{0});
    trace_.event(kRuntimeName, 301, 0, {.time = from}, start, {kTake});
    trace_.event(kRuntimeName, 302, 0, {.time = to}, Payload{}.add(std::uint16_t{0}));
  }
  void suspension(std::int64_t from, std::int64_t to) {
    const auto why = Payload{}.add(1U).add(0U).add(std::uint16_t{0});
    trace_.event(kRuntimeName, 9, 1, {.time = from, .thread = 9}, why);
    trace_.event(kRuntimeName, 3, 1, {.time = to, .thread = 9}, Payload{}.add(std::uint16_t{0}));
  }
  // A thread that ran again then, after so long, or did not yet.
  void ran(std::int64_t time, std::uint64_t after, std::uint64_t preempted = 0,
           const std::vector<std::uint64_t>& stack = {}, std::uint64_t unfinished = 0) {
    static const EventType kType = [] {
      EventType type;
      type.index = 1000;
      type.provider = kUniversalEvents;
      type.id = 77;
      type.name = "cswitch";
      type.fields = {{.name = "Value", .type = TypeCode::kVarUInt},
                     {.name = "Preempted", .type = TypeCode::kVarUInt},
                     {.name = "Unfinished", .type = TypeCode::kVarUInt}};
      return type;
    }();
    trace_.typed(kType, {.time = time},
                 Payload{}.varuint(after).varuint(preempted).varuint(unfinished), stack);
  }
  std::vector<std::string> sites() {
    trace_.method(kRundownName, 144, {.time = 9'000'000}, 0x1000, 0x100, "App", "Book");
    trace_.method(kRundownName, 144, {.time = 9'000'000}, 0x2000, 0x100, "App", "Take");
    trace_.read_into(waits_);
    std::vector<std::string> all;
    for (const auto& [site, sum] : waits_.by_site())
      all.push_back(waits_.frame(site.frame).method + " " + std::string{to_string(site.reason)});
    std::sort(all.begin(), all.end());
    return all;
  }

  TestTrace trace_;
  Waits waits_;
};
using Texts = std::vector<std::string>;

TEST_F(ToldWaitsTest, CountsWhatHadNotEndedApart) {
  const auto start = Payload{}.add(std::uint8_t{0}).add(std::uint16_t{0}).add(std::uint64_t{1});
  trace_.event(kRuntimeName, 81, 1, {.time = 1000}, start, {kBook});
  ran(500, 200);
  ran(6000, 4900, 0, {}, 1);  // since 1100, for a lock
  EXPECT_EQ(sites(), (Texts{"? unknown", "App.Book() lock"}));
  EXPECT_EQ(waits_.all().count, 2U);
  EXPECT_EQ(waits_.all().unfinished, 1U);
  EXPECT_EQ(waits_.all().unfinished_ns, 4900U);
  EXPECT_EQ(waits_.by_reason(WaitReason::kLock).unfinished, 1U);
  EXPECT_EQ(waits_.by_reason(WaitReason::kUnknown).unfinished, 0U);
}

TEST_F(ToldWaitsTest, JoinsTheSwitchWithTheLockOrHandleWaitedFor) {
  lock(1000, 3000);
  ran(2900, 1800);  // since 1100
  handle(5000, 7000);
  ran(6900, 1800);
  ran(8000, 500);  // of its own
  EXPECT_EQ(sites(), (Texts{"? unknown", "App.Book() lock", "App.Take() event"}));
  EXPECT_EQ(waits_.unexplained().ns, 500U);
}

TEST_F(ToldWaitsTest, DoesNotJoinWhatBeganBeforeOrEndedEarlier) {
  lock(1000, 2000);
  ran(1500, 1000);  // since 500
  ran(4000, 1500);  // since 2500
  EXPECT_EQ(sites(), (Texts{"? unknown"}));
}

TEST_F(ToldWaitsTest, TellsASuspensionAndAMissingProcessorFromIt) {
  suspension(1000, 4000);
  ran(3900, 2000);
  ran(5000, 200, 1);
  ran(6000, 200);
  EXPECT_EQ(sites(), (Texts{"? gcSuspension", "? runQueue", "? unknown"}));
}

TEST_F(ToldWaitsTest, DoesNotBlameASuspensionForAWaitThatOutlastsIt) {
  suspension(1000, 4000);
  ran(15'000'000, 14'998'000);    // since 2000, then without a processor for a while
  ran(700'000'000, 699'997'000);  // since 3000: it slept
  EXPECT_EQ(sites(), (Texts{"? gcSuspension", "? unknown"}));
  EXPECT_EQ(waits_.unexplained().ns, 699'997'000U);
}

TEST_F(WaitsTest, PutsThreadsWithoutWorkLast) {
  TestTrace trace;
  trace.name_thread({.thread = 7}, ".NET Finalizer");
  trace.name_thread({.thread = 8}, ".NET TP Worker");
  trace.name_thread({.thread = 9}, ".NET Finalizer");
  trace.method(kRundownName, 144, {.time = 9'000'000}, 0x1000, 0x100, "App", "Finalize");
  trace.universal("cswitch", {.time = 10, .thread = 7}, 90'000'000, {0x7000});
  trace.universal("cswitch", {.time = 11, .thread = 8}, 5'000'000, {0x7000});
  trace.universal("cswitch", {.time = 12, .thread = 9}, 3'000'000, {0x7000, 0x1010});
  const auto report = find_report("waits")->make({});
  trace.read_into(*report);
  const auto page = report->page();
  EXPECT_NE(page.summary[0].find("2 waits, 8 ms over all threads"), std::string::npos)
      << page.summary[0];
  EXPECT_NE(page.summary[1].find("waited another 90 ms"), std::string::npos) << page.summary[1];
  ASSERT_EQ(page.tables[0].rows.size(), 3U);
  EXPECT_EQ(page.tables[0].rows[2][4], "runtime idle");
  EXPECT_EQ(page.tables[2].rows[2][0], "90 ms");
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
  EXPECT_EQ(page.tables[0].rows[1][1], "5 ms");
}

}  // namespace
}  // namespace clrscope::analyze
