// Findings about what grows or stands still for the whole time: each with the problem, and with
// healthy evidence that looks similar.
#include <fmt/format.h>
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

// So many threads that poll, in each of the snapshots.
Evidence polling(std::initializer_list<std::uint32_t> counts, WaitKind kind = WaitKind::kSleep) {
  std::vector<Snapshot> snapshots;
  for (const auto count : counts) {
    Snapshot snapshot;
    for (std::uint32_t i = 0; i < count; ++i) {
      auto thread = waiting(make_thread(200 + i, "connection", "Shop.Poller.Poll()"), kind);
      thread.waiting_for->timed = kind == WaitKind::kSleep;
      snapshot.threads.push_back(std::move(thread));
    }
    snapshots.push_back(std::move(snapshot));
  }
  return with_snapshots(std::move(snapshots));
}

TEST(ThreadLeak, IsThreadsOfOneStartThatGrowAllTheTime) {
  const auto found = examined("CS1307", polling({1, 4, 8, 12}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].title, HasSubstr("12 threads run Shop.Poller.Poll"));
  EXPECT_THAT(found[0].advice, HasSubstr("Shop.Poller.Poll"));
}

TEST(ThreadLeak, IsNotThreadsThatComeAndGoNorAStartOfMany) {
  EXPECT_THAT(examined("CS1307", polling({2, 9, 3, 10})), IsEmpty());
  EXPECT_THAT(examined("CS1307", polling({1, 40, 40, 40, 40, 40})), IsEmpty());
  EXPECT_THAT(examined("CS1307", polling({30, 30, 30, 30})), IsEmpty());
  // Those that wait for nobody are CS1302's.
  EXPECT_THAT(examined("CS1307", polling({1, 4, 8, 12}, WaitKind::kEvent)), IsEmpty());
}

Evidence with_finalizer(inspect::ThreadView finalizer) {
  finalizer.os.name = ".NET Finalizer";
  Snapshot snapshot;
  snapshot.threads = {std::move(finalizer)};
  return same_snapshot(snapshot);
}

TEST(BlockedFinalizer, WaitsInCodeOfTheApplication) {
  auto evidence =
      with_finalizer(waiting(make_thread(120, "", "Shop.Connection.Finalize()"), WaitKind::kEvent));
  evidence.events = EventFacts{.collections = {{.heap_bytes = 1, .finalizable = 30}}};
  const auto found = examined("CS1603", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Connection.Finalize"));
  EXPECT_THAT(found[0].details, testing::ElementsAre(HasSubstr("30 objects")));
}

TEST(BlockedFinalizer, IsNotOneThatHasNothingToDoOrThatMoves) {
  EXPECT_THAT(
      examined("CS1603", with_finalizer(waiting(make_thread(120, "", ""), WaitKind::kWaitHandle))),
      IsEmpty());
  auto evidence =
      with_finalizer(waiting(make_thread(120, "", "Shop.Connection.Finalize()"), WaitKind::kEvent));
  evidence.snapshots.back().threads[0].os.cpu += 20ms;
  EXPECT_THAT(examined("CS1603", evidence), IsEmpty());
}

// The last snapshot came right after a stop, and a busy machine has not let the thread wait again.
Evidence late(Evidence evidence) {
  auto& last = evidence.snapshots.back();
  last.pause = 1ms;
  last.threads[0].running = true;
  last.threads[0].waiting_for.reset();
  return evidence;
}

TEST(BlockedFinalizer, IsUnknownWhileItRunsAfterAStop) {
  EXPECT_THAT(examined("CS1603",
                       late(with_finalizer(waiting(
                           make_thread(120, "", "Shop.Connection.Finalize()"), WaitKind::kEvent)))),
              IsEmpty());
}

// A thread that matches these texts, one in each snapshot, and uses all of a processor.
Evidence matching(std::vector<std::uint64_t> texts) {
  std::vector<Snapshot> snapshots;
  for (const auto text : texts) {
    auto thread = make_thread(130, "validator", "Shop.Names.IsName(string)",
                              std::chrono::seconds{snapshots.size()});
    thread.running = true;
    thread.regex = inspect::RegexCall{.pattern = "^(a+)+$", .text = text, .length = 60};
    Snapshot snapshot;
    snapshot.threads = {std::move(thread)};
    snapshots.push_back(std::move(snapshot));
  }
  return with_snapshots(std::move(snapshots));
}

TEST(SlowRegex, IsOneTextInEverySnapshot) {
  const auto found = examined("CS1402", matching({1, 1, 1, 1, 1, 7, 7, 7}));  // moved once
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Names.IsName"));
  EXPECT_THAT(found[0].details, testing::ElementsAre(HasSubstr("^(a+)+$")));
  // Then it is not a runaway thread as well.
  EXPECT_THAT(examined("CS1301", matching({1, 1, 1, 1, 1, 1, 1, 1, 1, 1})), IsEmpty());
}

TEST(SlowRegex, IsNotManyTextsNorAThreadThatRests) {
  EXPECT_THAT(examined("CS1402", matching({1, 2, 3, 4, 5, 6, 7, 8})), IsEmpty());
  auto idle = matching({1, 1, 1, 1});
  for (auto& snapshot : idle.snapshots) snapshot.threads[0].running = false;
  EXPECT_THAT(examined("CS1402", idle), IsEmpty());
}

Evidence starting(bool web_server, std::optional<bool> listens, std::string detail = {}) {
  auto thread = waiting(make_thread(100, "", "Shop.Program.Main()"), WaitKind::kTask, 0,
                        "System.Threading.Tasks.Task");
  thread.waiting_for->detail = std::move(detail);
  Snapshot snapshot;
  snapshot.threads = {std::move(thread)};
  auto evidence = same_snapshot(snapshot);
  evidence.process.up = 30s;
  evidence.process.web_server = web_server;
  evidence.process.listens = listens;
  return evidence;
}

TEST(HungStart, IsAMainThatWaitsWhileNobodyListens) {
  const auto found = examined("CS1308", starting(true, false, "of Shop.Program.Load()"));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Program.Main"));
  EXPECT_THAT(found[0].threads[0].does, HasSubstr("of Shop.Program.Load()"));
}

TEST(HungStart, IsUnknownWhileMainRunsAfterAStop) {
  EXPECT_THAT(examined("CS1308", late(starting(true, false, "of Shop.Program.Load()"))), IsEmpty());
}

TEST(HungStart, IsNotAServerThatListensNorAHostNorAnotherProgram) {
  EXPECT_THAT(examined("CS1308", starting(true, true)), IsEmpty());
  EXPECT_THAT(examined("CS1308", starting(true, std::nullopt)), IsEmpty());
  EXPECT_THAT(examined("CS1308", starting(false, false)), IsEmpty());
  EXPECT_THAT(examined("CS1308", starting(true, false, "which awaits Host.WaitForShutdownAsync()")),
              IsEmpty());
  auto young = starting(true, false);
  young.process.up = 0s;
  young.watched = 3s;
  EXPECT_THAT(examined("CS1308", young), IsEmpty());
}

// Megabytes in use, one value a second.
Evidence using_memory(std::initializer_list<std::uint64_t> megabytes) {
  Evidence evidence;
  evidence.process = {.pid = 100, .name = "Shop"};
  for (const auto mb : megabytes)
    evidence.memory.push_back({.time = std::chrono::seconds{evidence.memory.size()},
                               .rss = mb * 1'000'000,
                               .anonymous = mb * 1'000'000});
  evidence.watched = evidence.memory.back().time;
  return evidence;
}

TEST(MemoryLimit, IsNearOrReachedSoon) {
  auto full = using_memory({950, 950, 950, 950});
  full.process.memory_limit = 1'000'000'000;
  const auto near = examined("CS1606", full);
  ASSERT_THAT(near, SizeIs(1));
  EXPECT_EQ(near[0].severity, Severity::kWarning);
  auto growing = using_memory({500, 510, 520, 530, 540});
  growing.process.memory_limit = 1'000'000'000;
  const auto soon = examined("CS1606", growing);
  ASSERT_THAT(soon, SizeIs(1));
  EXPECT_EQ(soon[0].severity, Severity::kError);
  EXPECT_THAT(soon[0].title, HasSubstr("Out of memory in about 46 s"));
  growing.process.memory_limit.reset();
  EXPECT_THAT(examined("CS1606", growing), IsEmpty());
  EXPECT_THAT(examined("CS1606", growing, {"CS1606.limitMB=1000"}), SizeIs(1));
}

TEST(MemoryLimit, CountsTheWholeGroup) {
  auto evidence = using_memory({10, 10, 10});
  for (auto& use : evidence.memory) use.group = 990'000'000;
  evidence.process.memory_limit = 1'000'000'000;
  EXPECT_THAT(examined("CS1606", evidence), SizeIs(1));
}

TEST(MemoryLimit, IsFarFromAStableOrBarelyGrowingProcess) {
  auto stable = using_memory({500, 520, 490, 510});
  stable.process.memory_limit = 1'000'000'000;
  EXPECT_THAT(examined("CS1606", stable), IsEmpty());
  auto slow = using_memory({500, 501, 501, 502});
  slow.process.memory_limit = 10'000'000'000;
  EXPECT_THAT(examined("CS1606", slow), IsEmpty());
}

Evidence with_counter(Evidence evidence, std::string name, std::vector<double> values) {
  if (!evidence.events) evidence.events = EventFacts{.length = evidence.watched};
  evidence.events->counters[std::move(name)] = {.values = std::move(values)};
  return evidence;
}

TEST(NativeGrowth, IsMoreThanTheProgramAllocates) {
  const auto grows = using_memory({100, 110, 120, 130, 140});
  const auto found =
      examined("CS1607", with_counter(grows, "System.Runtime/alloc-rate", {1e5, 1e5, 1e5}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("9.9 MB each second"));
  // A program that has just started needs some.
  auto slowly = with_counter(using_memory({100, 102, 103, 105, 106}), "System.Runtime/alloc-rate",
                             {1e5, 1e5, 1e5});
  slowly.process.up = std::chrono::seconds{59};
  EXPECT_THAT(examined("CS1607", slowly), IsEmpty());
  slowly.process.up = std::chrono::seconds{61};
  EXPECT_THAT(examined("CS1607", slowly), SizeIs(1));
  // A managed leak, and a program that allocates and keeps nothing.
  EXPECT_THAT(examined("CS1607", with_counter(grows, "System.Runtime/alloc-rate", {12e6, 12e6})),
              IsEmpty());
  EXPECT_THAT(examined("CS1607", with_counter(using_memory({100, 101, 100, 101}),
                                              "System.Runtime/alloc-rate", {1e5})),
              IsEmpty());
}

Evidence with_handles(std::initializer_list<std::uint64_t> handles, std::uint64_t pinned = 0) {
  EventFacts events;
  for (const auto count : handles)
    events.collections.push_back({.heap_bytes = 1,
                                  .start = std::chrono::seconds{events.collections.size()},
                                  .handles = count,
                                  .pinned_objects = pinned});
  return with_events(std::move(events), 5s);
}

TEST(GcHandles, AreALeakWhenTheyGrowAndAFactWhenTheyPinALot) {
  const auto leak = examined("CS1604", with_handles({500, 1500, 2500, 3500}));
  ASSERT_THAT(leak, SizeIs(1));
  EXPECT_EQ(leak[0].severity, Severity::kWarning);
  EXPECT_THAT(leak[0].title, HasSubstr("1000 more each second"));
  const auto pinned = examined("CS1604", with_handles({500, 500, 500}, 20'000));
  ASSERT_THAT(pinned, SizeIs(1));
  EXPECT_EQ(pinned[0].severity, Severity::kInfo);
  EXPECT_THAT(examined("CS1604", with_handles({5000, 900, 5000, 900})), IsEmpty());
  EXPECT_THAT(examined("CS1604", with_handles({5000, 5001, 5002, 5003})), IsEmpty());
  EXPECT_THAT(examined("CS1604", with_handles({})), IsEmpty());
}

Evidence fragmented(double percent, double large, double gen2) {
  auto evidence = with_counter(with_events({}, 5s), "System.Runtime/gc-fragmentation", {percent});
  evidence = with_counter(std::move(evidence), "System.Runtime/loh-size", {large});
  return with_counter(std::move(evidence), "System.Runtime/gen-2-size", {gen2});
}

TEST(HeapFragmentation, IsALargeShareOfALargeHeap) {
  const auto found = examined("CS1605", fragmented(75, 160e6, 1e6));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("LOH fragmentation: 75 %"));
  EXPECT_THAT(examined("CS1605", fragmented(75, 1e6, 160e6))[0].title, HasSubstr("Heap frag"));
  EXPECT_THAT(examined("CS1605", fragmented(10, 160e6, 1e6)), IsEmpty());
  EXPECT_THAT(examined("CS1605", fragmented(90, 1e6, 1e6)), IsEmpty());  // nothing to speak of
}

TEST(TimerFlood, IsManyTimersThatGrow) {
  const auto with = [](std::vector<double> timers) {
    return with_counter(with_events({}, 5s), "System.Runtime/active-timer-count",
                        std::move(timers));
  };
  const auto found = examined("CS1207", with({5000, 5400, 5800, 6200}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].title, HasSubstr("6200 timers are active, 400 more each second"));
  EXPECT_EQ(examined("CS1207", with({30'000, 30'000, 30'000}))[0].severity, Severity::kInfo);
  EXPECT_THAT(examined("CS1207", with({5000, 5000, 4990, 5000})), IsEmpty());
  EXPECT_THAT(examined("CS1207", with({10, 50, 90, 130})), IsEmpty());
}

TEST(HttpPool, IsTheTimeInItsQueue) {
  const auto with = [](double mean, std::uint64_t count) {
    auto evidence = with_events({}, 5s);
    evidence.events->counters["System.Net.Http/http11-requests-queue-duration"] = {
        .values = {mean}, .count = count, .sum = mean * static_cast<double>(count)};
    evidence.events->counters["System.Net.Http/current-requests"] = {.values = {30}};
    evidence.events->counters["System.Net.Http/http11-connections-current-total"] = {.values = {2}};
    return evidence;
  };
  const auto found = examined("CS1701", with(700, 100));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("wait 700 ms"));
  EXPECT_THAT(found[0].summary, HasSubstr("30 requests share 2 connections"));
  EXPECT_THAT(examined("CS1701", with(3, 100)), IsEmpty());
  EXPECT_THAT(examined("CS1701", with(700, 2)), IsEmpty());
}

}  // namespace
}  // namespace clrscope::doctor
