// Findings from snapshots of threads and locks: each on a process with the problem, and on healthy
// ones that look similar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/test_evidence.h"

namespace clrscope::doctor {
namespace {

using inspect::Snapshot;
using inspect::WaitKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Snapshot cycle_of(WaitKind first, WaitKind second) {
  Snapshot snapshot;
  snapshot.threads = {
      waiting(make_thread(131, "orders", "Shop.Orders.Place()"), first, 132, "Shop.Stock", 0x98),
      waiting(make_thread(132, "refunds", "Shop.Refunds.Run()"), second, 131, "Shop.Cart", 0x10)};
  snapshot.cycles = {{131, 132}};
  return snapshot;
}

TEST(StoppedProcess, IsSaidFirstAndHindersWhatNeedsOneThatRuns) {
  auto evidence = same_snapshot(cycle_of(WaitKind::kMonitor, WaitKind::kLock));
  EXPECT_THAT(examined("CS1303", evidence), IsEmpty());
  evidence.standstill = Standstill{};
  evidence.silent = 3s;
  evidence.events = EventFacts{.length = 10s};
  const auto all = diagnose(evidence, *select({}, {}));
  ASSERT_FALSE(all.reports.empty());
  EXPECT_EQ(all.reports[0].id, "CS1303");
  EXPECT_THAT(all.reports[0].advice, HasSubstr("kill -CONT"));
  for (const auto& one : all.examined) {
    const auto& needs = one.finding->needs;
    const bool moving = needs.events || needs.cpu || needs.least.count() > 0;
    EXPECT_TRUE(!moving || one.outcome == Outcome::kNotRun) << one.finding->id;
  }
  // Locks do not move either way.
  EXPECT_TRUE(std::ranges::any_of(all.reports, [](const auto& one) { return one.id == "CS1001"; }));
}

TEST(StoppedProcess, NamesWhoHoldsIt) {
  Evidence evidence;
  evidence.standstill = Standstill{.tracer = 77, .tracer_name = "gdb"};
  const auto found = examined("CS1303", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("gdb (77)"));
}

TEST(SilentRuntime, IsOneThatWasAskedAndSaidNothing) {
  Evidence evidence{.watched = 5s};
  EXPECT_THAT(examined("CS1304", evidence), IsEmpty());
  evidence.silent = 5s;
  const auto found = examined("CS1304", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
}

// Managed code that called read() and did not leave cooperative mode.
Snapshot in_native_code(bool cooperative) {
  Snapshot snapshot;
  snapshot.threads = {make_thread(131, "reader", "Shop.Feed.Next()"), make_thread(132, "main", "")};
  snapshot.threads[0].runtime->cooperative = cooperative;
  snapshot.threads[0].frames[0] = {.module = "libc.so.6", .kind = inspect::FrameKind::kNative};
  return snapshot;
}

TEST(GcSuspension, NamesTheThreadThatDoesNotLeaveNativeCode) {
  auto evidence = same_snapshot(in_native_code(true));
  evidence.silent = 10s;
  const auto all = diagnose(evidence, *select({}, {}));
  ASSERT_FALSE(all.reports.empty());
  EXPECT_EQ(all.reports[0].id, "CS1305");
  EXPECT_EQ(all.reports[0].confidence, Confidence::kCertain);
  EXPECT_THAT(all.reports[0].title, HasSubstr("waits for thread 131 \"reader\" in Shop.Feed.Next"));
  ASSERT_THAT(all.reports[0].threads, SizeIs(1));
  EXPECT_EQ(all.reports[0].threads[0].frames[0].method, "Shop.Feed.Next()");
}

TEST(GcSuspension, IsOnlyLikelyWhileNobodySuspends) {
  const auto found = examined("CS1305", same_snapshot(in_native_code(true)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
}

TEST(GcSuspension, IsNoneOfOtherThreads) {
  EXPECT_THAT(examined("CS1305", same_snapshot(in_native_code(false))), IsEmpty());
  auto computes = in_native_code(true);  // as in a loop over Math.Sin
  computes.threads[0].running = true;
  EXPECT_THAT(examined("CS1305", same_snapshot(computes)), IsEmpty());
  auto collects = in_native_code(true);
  collects.threads[0].frames.insert(collects.threads[0].frames.begin() + 1,
                                    {.kind = inspect::FrameKind::kRuntime});
  EXPECT_THAT(examined("CS1305", same_snapshot(collects)), IsEmpty());
  auto once = same_snapshot(in_native_code(false));
  once.snapshots[3] = in_native_code(true);
  EXPECT_THAT(examined("CS1305", once), IsEmpty());
}

Snapshot before_its_start() {
  Snapshot snapshot;
  snapshot.threads = {make_thread(100, "", ""), make_thread(101, "", "")};
  for (auto& thread : snapshot.threads) thread.runtime.reset();
  return snapshot;
}

TEST(SuspendedStart, IsSaidFirstAndHindersWhatNeedsARuntime) {
  auto evidence = same_snapshot(before_its_start());
  evidence.silent = 10s;
  evidence.process.environment = {{"DOTNET_DiagnosticPorts", "/run/monitor.sock"}};
  const auto all = diagnose(evidence, *select({}, {}));
  ASSERT_THAT(all.reports, SizeIs(1));
  EXPECT_EQ(all.reports[0].id, "CS1306");
  EXPECT_THAT(all.reports[0].summary, HasSubstr("DOTNET_DiagnosticPorts=/run/monitor.sock"));
  for (const auto& one : all.examined)
    EXPECT_TRUE(one.outcome == Outcome::kNotRun ||
                (!one.finding->needs.snapshots && !one.finding->needs.events))
        << one.finding->id;
}

TEST(SuspendedStart, IsNoneOfARuntimeThatStartedOrWasNotTold) {
  auto evidence = same_snapshot(before_its_start());
  EXPECT_THAT(examined("CS1306", evidence), IsEmpty());
  evidence.process.environment = {{"DOTNET_DiagnosticPorts", "/run/monitor.sock,nosuspend"}};
  EXPECT_THAT(examined("CS1306", evidence), IsEmpty());
  evidence.process.environment = {{"DOTNET_DefaultDiagnosticPortSuspend", "1"}};
  EXPECT_THAT(examined("CS1306", evidence), SizeIs(1));
  evidence.snapshots.back().threads[1].os.name = ".NET Finalizer";
  EXPECT_THAT(examined("CS1306", evidence), IsEmpty());
}

TEST(Snapshots, ThatKnowNoThreadOfTheRuntimeFindNothingHealthy) {
  const auto all = diagnose(same_snapshot(before_its_start()), *select({"CS1001"}, {}));
  EXPECT_EQ(all.examined[0].outcome, Outcome::kNotRun);
  EXPECT_EQ(all.examined[0].reason, "the runtime's threads could not be read");
}

TEST(LockCycle, NamesThreadsLocksAndPlaces) {
  const auto found =
      examined("CS1001", same_snapshot(cycle_of(WaitKind::kMonitor, WaitKind::kLock)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
  ASSERT_THAT(found[0].threads, SizeIs(2));
  EXPECT_EQ(found[0].threads[0].does, "holds Lock Shop.Cart 0x10, wants lock Shop.Stock 0x98");
  EXPECT_EQ(found[0].threads[0].frames[0].line, 41U);
  EXPECT_THAT(found[0].advice, HasSubstr("Shop.Stock, then Shop.Cart"));
}

TEST(LockCycle, GoesThroughTasks) {
  const auto found =
      examined("CS1001", same_snapshot(cycle_of(WaitKind::kTask, WaitKind::kMonitor)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].threads[1].does, "runs task Shop.Stock 0x98, wants lock Shop.Cart 0x10");
}

TEST(LockCycle, GoesThroughStaticConstructors) {
  const auto found =
      examined("CS1001", same_snapshot(cycle_of(WaitKind::kTypeInitializer, WaitKind::kMonitor)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].summary, HasSubstr("or runs the static constructor"));
  EXPECT_THAT(found[0].advice, HasSubstr("in the static constructor of"));
  EXPECT_THAT(found[0].threads[0].does, HasSubstr("wants the static constructor of"));
  EXPECT_THAT(found[0].threads[1].does, HasSubstr("runs the static constructor of"));
}

TEST(LockCycle, IsNoneWhenItIsNotInEveryLook) {
  auto moving = cycle_of(WaitKind::kMonitor, WaitKind::kMonitor);
  moving.cycles.clear();
  EXPECT_THAT(examined("CS1001",
                       with_snapshots({moving, cycle_of(WaitKind::kMonitor, WaitKind::kMonitor)})),
              IsEmpty());
}

TEST(LockCycle, IsAWarningWhenATimeoutWillEndIt) {
  auto snapshot = cycle_of(WaitKind::kMonitor, WaitKind::kMonitor);
  snapshot.threads[0].waiting_for->timed = true;
  const auto found = examined("CS1001", same_snapshot(snapshot));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
}

// One holds, one waits; `cpu` is what the waiter has used by this snapshot.
Snapshot held(std::uint32_t holder, std::chrono::nanoseconds cpu, std::uint64_t object = 0x10) {
  Snapshot snapshot;
  snapshot.threads = {
      waiting(make_thread(131, "inventory", "Shop.Stock.Count()"), WaitKind::kWaitHandle),
      waiting(make_thread(132, "picker", "Shop.Stock.Pick()", cpu), WaitKind::kMonitor, holder,
              "Shop.Stock", object),
      make_thread(133, "other", "Shop.Stock.Pick()")};
  snapshot.locks = {
      {.object = object, .type = "Shop.Stock", .owner_os_id = holder, .waiters = {132}}};
  return snapshot;
}

TEST(LongHolder, KeepsALockWhileTheSameThreadWaits) {
  // The collector moves the lock in between.
  const auto found = examined("CS1002", with_snapshots({held(131, 5ms), held(131, 5ms),
                                                        held(131, 5ms, 0x20), held(131, 5ms)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("3 s"));
  EXPECT_THAT(found[0].summary, HasSubstr("while it is waiting itself"));
  EXPECT_THAT(found[0].advice, HasSubstr("Shop.Stock.Count"));
}

TEST(LongHolder, IsNoneWhenTheLockMoves) {
  // Another holder; the same one, but the waiter has had its turn in between; nobody waits.
  EXPECT_THAT(examined("CS1002", with_snapshots({held(131, 5ms), held(133, 5ms), held(131, 5ms)})),
              IsEmpty());
  EXPECT_THAT(examined("CS1002", with_snapshots({held(131, 5ms), held(131, 6ms), held(131, 7ms)})),
              IsEmpty());
  auto alone = held(131, 5ms);
  alone.locks[0].waiters.clear();
  EXPECT_THAT(examined("CS1002", same_snapshot(alone)), IsEmpty());
}

TEST(LongHolder, IsSeenThoughAStoppedThreadRunsLate) {
  auto evidence = with_snapshots(
      {held(131, 5ms), held(131, 5ms), held(131, 5ms + 80us), held(131, 5ms + 80us)});
  EXPECT_THAT(examined("CS1002", evidence), IsEmpty());  // nobody stopped it
  evidence.copies = {evidence.snapshot_times[1] - 1ms};
  EXPECT_THAT(examined("CS1002", evidence), SizeIs(1));
  evidence.snapshots[1].threads[1].running = true;
  evidence.snapshots[1].threads[1].waiting_for.reset();
  evidence.snapshots[1].locks.clear();
  EXPECT_THAT(examined("CS1002", evidence), SizeIs(1));
  evidence.copies = {evidence.snapshot_times[3] - 1ms};
  EXPECT_THAT(examined("CS1002", evidence), IsEmpty());
}

TEST(LongHolder, AsksForLessWhereLessWasWatched) {
  EXPECT_THAT(examined("CS1002", same_snapshot(held(131, 5ms), 2)), SizeIs(1));
}

TEST(LockConvoy, IsSeenInLooksWhereThereAreNoEvents) {
  std::vector<Snapshot> snapshots;
  for (std::uint32_t i = 0; i < 10; ++i) {
    auto snapshot = held(131 + i % 3, std::chrono::milliseconds{i});
    snapshot.locks[0].waiters = {132, 134};
    snapshots.push_back(snapshot);
  }
  EXPECT_THAT(examined("CS1003", with_snapshots(snapshots)), SizeIs(1));
  for (std::size_t i = 0; i < 5; ++i) snapshots[i].locks.clear();
  EXPECT_THAT(examined("CS1003", with_snapshots(snapshots)), IsEmpty());
  EXPECT_THAT(examined("CS1003", same_snapshot(held(131, 5ms))), IsEmpty());  // a long holder
}

inspect::ThreadView on_task(std::uint32_t os_id, std::chrono::nanoseconds cpu = 5ms) {
  return waiting(make_thread(os_id, "", "Shop.Web.Get()", cpu), WaitKind::kTask, 0,
                 "System.Threading.Tasks.Task");
}

TEST(SyncOverAsync, IsPoolThreadsThatBlockOnTasks) {
  Snapshot snapshot;
  snapshot.threads = {pool_worker(on_task(131)), pool_worker(on_task(132))};
  const auto found = examined("CS1203", same_snapshot(snapshot));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("2 threads block on a task in Shop.Web.Get"));
  auto seldom = std::vector<Snapshot>(9);
  seldom.push_back(snapshot);
  EXPECT_THAT(examined("CS1203", with_snapshots(seldom)), IsEmpty());
}

TEST(SyncOverAsync, IsInTheApplicationRatherThanInCodeMadeAtRunTime) {
  auto thread = pool_worker(on_task(131));
  thread.frames.insert(thread.frames.begin() + 1, {.method = "dynamicClass.lambda_method94(object)",
                                                   .kind = inspect::FrameKind::kManaged});
  Snapshot snapshot;
  snapshot.threads = {thread};
  const auto found = examined("CS1203", same_snapshot(snapshot));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("in Shop.Web.Get"));
  snapshot.threads[0].frames.pop_back();
  const auto without = examined("CS1203", same_snapshot(snapshot));
  ASSERT_THAT(without, SizeIs(1));
  EXPECT_THAT(without[0].title, HasSubstr("in dynamicClass.lambda_method94"));
}

TEST(SyncOverAsync, IsAThreadThatDoesNotMoveButNotTheMainThread) {
  Snapshot snapshot;
  snapshot.threads = {on_task(131)};
  EXPECT_THAT(examined("CS1203", same_snapshot(snapshot)), SizeIs(1));
  snapshot.threads = {on_task(100)};  // waits for the host's end
  EXPECT_THAT(examined("CS1203", same_snapshot(snapshot)), IsEmpty());
  std::vector<Snapshot> moving(4);
  for (std::size_t i = 0; i < moving.size(); ++i)
    moving[i].threads = {on_task(131, std::chrono::microseconds{50 * i})};
  EXPECT_THAT(examined("CS1203", with_snapshots(moving)), IsEmpty());
}

Snapshot pool(std::size_t blocked, std::size_t idle, std::uint32_t queued) {
  Snapshot snapshot;
  for (std::size_t i = 0; i < blocked; ++i)
    snapshot.threads.push_back(pool_worker(on_task(static_cast<std::uint32_t>(200 + i))));
  for (std::size_t i = 0; i < idle; ++i)
    snapshot.threads.push_back(pool_worker(
        waiting(make_thread(static_cast<std::uint32_t>(300 + i), "", ""), WaitKind::kPoolIdle)));
  snapshot.pool = inspect::Pool{.queued = queued};
  return snapshot;
}

TEST(PoolStarvation, IsABlockedPoolWithWorkInItsQueue) {
  const auto found = examined("CS1204", same_snapshot(pool(36, 0, 200)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_THAT(found[0].title, HasSubstr("36 of 36 workers wait for a task (sync over async)"));
  EXPECT_THAT(found[0].summary, HasSubstr("Shop.Web.Get"));
}

TEST(PoolStarvation, IsNoneWithIdleWorkersOrAnEmptyQueue) {
  EXPECT_THAT(examined("CS1204", same_snapshot(pool(10, 10, 200))), IsEmpty());
  EXPECT_THAT(examined("CS1204", same_snapshot(pool(10, 0, 0))), IsEmpty());
  EXPECT_THAT(examined("CS1204", with_snapshots({pool(0, 4, 0), pool(36, 0, 200)})), IsEmpty());
}

TEST(PoolStarvation, SwallowsTheSyncOverAsyncOfTheSameThreads) {
  const auto reports =
      diagnose(same_snapshot(pool(36, 0, 200)), *select({"CS1203", "CS1204"}, {})).reports;
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0].id, "CS1204");
  EXPECT_EQ(reports[1].part_of, "CS1204");
}

Evidence busy(double share_of_cpu, double in_one_method) {
  std::vector<Snapshot> snapshots(11);
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    auto thread = make_thread(131, "spinner", "Shop.Wait()",
                              std::chrono::nanoseconds{static_cast<std::int64_t>(
                                  static_cast<double>(i) * 1e9 * share_of_cpu)});
    thread.running = true;
    snapshots[i].threads = {thread};
  }
  auto evidence = with_snapshots(std::move(snapshots));
  evidence.cpu = CpuFacts{.by_kernel = true, .samples = 9000};
  evidence.cpu->threads = {
      {.os_id = 131, .top = {"Shop.Wait()", "Shop", in_one_method, in_one_method}}};
  return evidence;
}

TEST(RunawayThread, KeepsAProcessorBusyInOneMethod) {
  const auto found = examined("CS1301", busy(0.99, 1.0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Wait()"));
  EXPECT_THAT(examined("CS1301", busy(0.99, 0.6)), IsEmpty());  // works hard, in many methods
  EXPECT_THAT(examined("CS1301", busy(0.3, 1.0)), IsEmpty());
}

TEST(RunawayThread, IsJudgedByLooksWithoutSamplesOfTheKernel) {
  auto evidence = busy(0.99, 1.0);
  evidence.cpu.reset();
  EXPECT_THAT(examined("CS1301", evidence), SizeIs(1));
  evidence.snapshots[4].threads[0].frames[1].method = "Shop.Other()";
  EXPECT_THAT(examined("CS1301", evidence), IsEmpty());
}

Snapshot idle_threads(std::size_t count, std::size_t dead = 0) {
  Snapshot snapshot;
  for (std::size_t i = 0; i < count; ++i)
    snapshot.threads.push_back(
        waiting(make_thread(static_cast<std::uint32_t>(200 + i), "reply", "Shop.Client.Await()"),
                WaitKind::kEvent));
  snapshot.without_os_thread.assign(dead, {.dead = true});
  return snapshot;
}

TEST(ZombieThreads, AreMoreAndMoreThatWaitForEver) {
  const auto found = examined("CS1302", with_snapshots({idle_threads(10), idle_threads(12),
                                                        idle_threads(12), idle_threads(15)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Client.Await"));
  // One that a busy machine has not let wait again after a stop is missed.
  EXPECT_THAT(examined("CS1302", with_snapshots({idle_threads(10), idle_threads(13),
                                                 idle_threads(12), idle_threads(15)})),
              SizeIs(1));
  // Coming and going is no growth.
  EXPECT_THAT(examined("CS1302", with_snapshots({idle_threads(10), idle_threads(18),
                                                 idle_threads(12), idle_threads(15)})),
              IsEmpty());
}

TEST(ZombieThreads, AreNotThreadsThatWereThereAndOnlyBeganToWait) {
  auto first = idle_threads(15);
  for (auto& thread : first.threads) thread.waiting_for.reset();
  EXPECT_THAT(examined("CS1302", with_snapshots({first, idle_threads(15), idle_threads(15)})),
              IsEmpty());
  // Only the last snapshot has lines.
  auto without_lines = idle_threads(15);
  for (auto& thread : without_lines.threads)
    for (auto& frame : thread.frames) frame.file.clear();
  EXPECT_THAT(examined("CS1302", with_snapshots({without_lines, without_lines, idle_threads(15)})),
              IsEmpty());
}

TEST(ZombieThreads, ThatOnlyIdleAreAFactAndOnlyWhenThereAreMany) {
  const auto found = examined("CS1302", same_snapshot(idle_threads(60)));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  EXPECT_THAT(examined("CS1302", same_snapshot(idle_threads(16))), IsEmpty());
}

TEST(ZombieThreads, AreEndedThreadsThatSomethingKeeps) {
  const auto kept = [](std::uint32_t generation) {
    auto evidence = same_snapshot(idle_threads(0, 100));
    evidence.events = EventFacts{.collections = {{.generation = generation}}};
    return evidence;
  };
  const auto found = examined("CS1302", kept(2));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  // No collection came that would have freed them.
  EXPECT_THAT(examined("CS1302", kept(1)), IsEmpty());
  // Whether one came is not known.
  const auto perhaps = examined("CS1302", same_snapshot(idle_threads(0, 100)));
  ASSERT_THAT(perhaps, SizeIs(1));
  EXPECT_EQ(perhaps[0].severity, Severity::kInfo);
  EXPECT_EQ(perhaps[0].confidence, Confidence::kPossible);
  EXPECT_THAT(examined("CS1302", same_snapshot(idle_threads(0, 5))), IsEmpty());
  // A collection took some of them: they were not kept.
  EXPECT_THAT(examined("CS1302", with_snapshots({idle_threads(0, 200), idle_threads(0, 60)})),
              IsEmpty());
}

}  // namespace
}  // namespace clrscope::doctor
