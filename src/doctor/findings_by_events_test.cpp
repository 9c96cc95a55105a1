// Findings from events, CPU samples and facts: each with the problem, and with
// healthy evidence that looks similar.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/test_evidence.h"
#include "doctor/trace_evidence.h"

namespace clrscope::doctor {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

EventFacts thrown(std::uint64_t count) {
  return {.exceptions = count,
          .thrown = {{.type = "Shop.NoStock",
                      .count = count,
                      .places = {{"Shop.Cart.Add()", "Shop", count}}}}};
}

TEST(ExceptionStorm, IsARateNotANumber) {
  const auto storm = examined("CS1501", with_events(thrown(500), 10s));
  ASSERT_THAT(storm, SizeIs(1));
  EXPECT_EQ(storm[0].severity, Severity::kWarning);
  EXPECT_THAT(storm[0].title, HasSubstr("50 exceptions a second"));
  EXPECT_THAT(storm[0].advice, HasSubstr("Shop.Cart.Add()"));
  EXPECT_THAT(examined("CS1501", with_events(thrown(500), 100s)), IsEmpty());
  EXPECT_THAT(examined("CS1501", with_events(thrown(9), 1s), {"CS1501.perSecond=1"}), IsEmpty());
  EXPECT_THAT(examined("CS1501", with_events(thrown(20), 10s), {"CS1501.perSecond=1"}), SizeIs(1));
}

EventFacts collections(std::size_t count, std::chrono::milliseconds pause, std::uint32_t generation,
                       std::string reason = "AllocSmall") {
  EventFacts events;
  for (std::size_t i = 0; i < count; ++i) {
    events.collections.push_back({.number = static_cast<std::uint32_t>(i),
                                  .generation = generation,
                                  .reason = reason,
                                  .induced = reason == "Induced",
                                  .pause = pause,
                                  .longest_pause = pause,
                                  .heap_bytes = 90 << 20});
    events.gc_paused += pause;
  }
  return events;
}

TEST(GcPauses, CountTheShareOfTheTimeAndTheLongest) {
  const auto often = examined("CS1601", with_events(collections(100, 20ms, 1)));
  ASSERT_THAT(often, SizeIs(1));
  EXPECT_THAT(often[0].title, HasSubstr("20 % of the time"));
  const auto once = examined("CS1601", with_events(collections(1, 700ms, 2)));
  ASSERT_THAT(once, SizeIs(1));
  EXPECT_THAT(once[0].title, HasSubstr("700 ms at once"));
  EXPECT_THAT(examined("CS1601", with_events(collections(200, 1ms, 0))), IsEmpty());
}

TEST(GcPauses, BlameTheProgramThatAsksForThem) {
  const auto asked = examined("CS1601", with_events(collections(100, 20ms, 2, "Induced")));
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(asked[0].advice, HasSubstr("GC.Collect"));
}

TEST(GcPressure, IsFullCollectionsThatNobodyAskedFor) {
  const auto found = examined("CS1602", with_events(collections(30, 1ms, 2, "AllocLarge")));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].advice, HasSubstr("ArrayPool"));
  EXPECT_THAT(examined("CS1602", with_events(collections(30, 1ms, 2, "Induced"))), IsEmpty());
  EXPECT_THAT(examined("CS1602", with_events(collections(3000, 1ms, 0))), IsEmpty());
  EXPECT_THAT(examined("CS1602", with_events(collections(3, 1ms, 2))), IsEmpty());
}

TEST(GcPressure, IsAnErrorWhenTheLimitIsNear) {
  auto evidence = with_events(collections(1, 1ms, 2));
  EXPECT_THAT(examined("CS1602", evidence), IsEmpty());
  evidence.process.environment["DOTNET_GCHeapHardLimit"] = "6000000";  // hexadecimal: 96 MiB
  const auto found = examined("CS1602", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kError);
  evidence.process.environment.clear();
  evidence.process.memory_limit = 100U << 20;  // the heap may have three quarters of it
  EXPECT_THAT(examined("CS1602", evidence), SizeIs(1));
  evidence.process.memory_limit = 1U << 30;
  EXPECT_THAT(examined("CS1602", evidence), IsEmpty());
}

TEST(LockConvoy, IsTheAverageLengthOfTheQueue) {
  const auto with_waits = [](std::chrono::nanoseconds waited, std::uint64_t unfinished) {
    return with_events({.lock_waits = 1000,
                        .locks = {{.method = "Shop.Ledger.Book()",
                                   .waits = 1000,
                                   .unfinished = unfinished,
                                   .waited = waited,
                                   .longest = 30ms}}});
  };
  const auto convoy = examined("CS1003", with_waits(25s, 0));
  ASSERT_THAT(convoy, SizeIs(1));
  EXPECT_THAT(convoy[0].title, HasSubstr("on average 2.5 threads"));
  // Two threads that take turns all the time: one of them always waits.
  const auto pair = examined("CS1003", with_waits(9'990ms, 0));
  ASSERT_THAT(pair, SizeIs(1));
  EXPECT_THAT(pair[0].title, HasSubstr("a thread waits for a lock in Shop.Ledger.Book() 100 %"));
  // So do two that hold it for seconds.
  const auto few = with_events({.locks = {{.method = "Shop.Ledger.Book()",
                                           .waits = 4,
                                           .unfinished = 1,
                                           .waited = 9'900ms,
                                           .longest = 3s}}});
  EXPECT_THAT(examined("CS1003", few), SizeIs(1));
  EXPECT_THAT(examined("CS1003", with_waits(3s, 0)), IsEmpty());
  EXPECT_THAT(examined("CS1003", with_waits(25s, 1000)), IsEmpty());  // a deadlock's waits
}

TEST(PoolStarvation, IsTheRuntimesVerdictWhereMemoryIsClosed) {
  const EventFacts starving{.pool = {.most_workers = 20,
                                     .first_workers = 4,
                                     .last_workers = 20,
                                     .starvations = 10,
                                     .blockings = 6}};
  const auto found = examined("CS1204", with_events(starving));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kError);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  EXPECT_THAT(examined("CS1204", with_events({.pool = {.most_workers = 4, .starvations = 1}})),
              IsEmpty());
}

TEST(HotPath, IsAFactAboutABusyProgramOnly) {
  Evidence evidence;
  evidence.watched = 10s;
  evidence.cpu = CpuFacts{.by_kernel = true, .samples = 5000, .length = 10s, .busy = 0.5};
  evidence.cpu->methods = {{"Shop.Price()", "Shop", 0.8, 0.9}};
  const auto found = examined("CS1401", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kInfo);
  evidence.cpu->busy = 0.01;
  EXPECT_THAT(examined("CS1401", evidence), IsEmpty());
  evidence.cpu->busy = 0.5;
  evidence.cpu->methods[0].self = 0.05;
  EXPECT_THAT(examined("CS1401", evidence), IsEmpty());
}

TEST(HotPath, ShowsTheThreadThatHasItAndGoesOnToTheApplication) {
  Evidence evidence;
  evidence.watched = 10s;
  evidence.cpu = CpuFacts{.by_kernel = true, .samples = 5000, .length = 10s, .busy = 0.5};
  evidence.cpu->methods = {{"System.Convert()", "System", 0.8, 0.9}};
  evidence.cpu->threads = {{.os_id = 1, .name = "busiest"}, {.os_id = 2, .name = "hot"}};
  evidence.cpu->hot_path.assign(9, {"System.Convert()", "System", 0, 0});
  evidence.cpu->hot_path.push_back({"Shop.Price()", "Shop", 0, 0, true});
  evidence.cpu->hot_path.push_back({"Shop.Main()", "Shop", 0, 0, true});
  evidence.cpu->hot_thread = 2;
  evidence.cpu->hot_thread_name = "hot";
  const auto found = examined("CS1401", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].summary, HasSubstr("Called from Shop.Price()."));
  EXPECT_THAT(found[0].numbers[0].words, HasSubstr("and the native code it calls"));
  ASSERT_THAT(found[0].threads, SizeIs(1));
  EXPECT_EQ(found[0].threads[0].name, "hot");
  ASSERT_THAT(found[0].threads[0].frames, SizeIs(10));
  EXPECT_EQ(found[0].threads[0].frames.back().method, "Shop.Price()");
}

TEST(ServerGc, IsAskedOnlyWhereLittleIsAllowed) {
  Evidence evidence;
  evidence.process.server_gc_threads = 2;
  EXPECT_THAT(examined("CS1901", evidence), IsEmpty());
  evidence.process.memory_limit = 512U << 20;
  EXPECT_THAT(examined("CS1901", evidence), SizeIs(1));
  evidence.process.server_gc_threads = 0;
  EXPECT_THAT(examined("CS1901", evidence), IsEmpty());
}

TEST(DebugBuild, NamesTheAssemblies) {
  Evidence evidence;
  EXPECT_THAT(examined("CS1902", evidence), IsEmpty());
  evidence.process.debug_assemblies = {"Shop.dll"};
  const auto found = examined("CS1902", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].details[0], "Shop.dll");
}

TEST(TieredSettings, ReadsEnvironmentBeforeConfiguration) {
  Evidence evidence;
  evidence.process.runtime_config["System.Runtime.TieredPGO"] = "false";
  ASSERT_THAT(examined("CS1903", evidence), SizeIs(1));
  EXPECT_EQ(examined("CS1903", evidence)[0].severity, Severity::kInfo);
  evidence.process.environment["DOTNET_TieredPGO"] = "1";
  EXPECT_THAT(examined("CS1903", evidence), IsEmpty());
  evidence.process.environment["DOTNET_JITMinOpts"] = "1";
  ASSERT_THAT(examined("CS1903", evidence), SizeIs(1));
  EXPECT_EQ(examined("CS1903", evidence)[0].severity, Severity::kWarning);
}

TEST(InvariantGlobalization, SurprisesOnlyWhereALanguageIsWanted) {
  Evidence evidence;
  evidence.process.environment["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1";
  EXPECT_THAT(examined("CS1904", evidence), IsEmpty());
  evidence.process.environment["LANG"] = "en_US.UTF-8";
  EXPECT_THAT(examined("CS1904", evidence), IsEmpty());
  evidence.process.environment["LANG"] = "de_DE.UTF-8";
  EXPECT_THAT(examined("CS1904", evidence), SizeIs(1));
  evidence.process.environment["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "0";
  EXPECT_THAT(examined("CS1904", evidence), IsEmpty());
}

TEST(CpuFacts, PutNativeTimeToTheMethodThatCalledIt) {
  using analyze::FrameId;
  using analyze::FrameKind;
  using analyze::StackNodeId;
  analyze::Profile profile;
  profile.to = TraceTime{1s};
  profile.frames = {{"Shop.Main()", "Shop", FrameKind::kManaged},
                    {"Shop.Price()", "Shop", FrameKind::kManaged},
                    {"memcpy", "libc", FrameKind::kNative}};
  profile.stacks = {
      {}, {StackNodeId{0}, FrameId{0}}, {StackNodeId{1}, FrameId{1}}, {StackNodeId{2}, FrameId{2}}};
  profile.threads = {{.thread = ThreadId{7}, .name = "hot"}};
  for (std::uint32_t i = 0; i < 10; ++i) {
    profile.threads[0].samples.push_back(i);
    profile.samples.push_back({.weight = 1ms,
                               .stack = StackNodeId{i < 6   ? 3U
                                                    : i < 9 ? 2U
                                                            : 1U},
                               .state = analyze::ThreadState::kRunning});
  }
  const auto facts = cpu_facts(profile, true);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->samples, 10U);
  EXPECT_NEAR(facts->busy, 0.01, 1e-9);
  EXPECT_EQ(facts->methods[0].method, "Shop.Price()");
  EXPECT_NEAR(facts->methods[0].self, 0.9, 1e-9);
  ASSERT_THAT(facts->hot_path, SizeIs(2));
  EXPECT_EQ(facts->hot_path[0].method, "Shop.Price()");
  EXPECT_EQ(facts->hot_thread, 7U);
  ASSERT_THAT(facts->threads, SizeIs(1));
  EXPECT_NEAR(facts->threads[0].top.total, 0.9, 1e-9);
}

TEST(CpuFacts, HaveTheThreadOfTheHotStackNotTheBusiestOne) {
  using analyze::FrameId, analyze::FrameKind, analyze::StackNodeId;
  analyze::Profile profile;
  profile.to = TraceTime{1s};
  profile.frames = {{"Shop.Main()", "Shop", FrameKind::kManaged},
                    {"Shop.Price()", "Shop", FrameKind::kManaged}};
  profile.stacks = {{}, {StackNodeId{0}, FrameId{0}}, {StackNodeId{1}, FrameId{1}}};
  for (std::uint32_t i = 0; i < 6; ++i) {  // other methods, each seen once
    profile.frames.push_back({fmt::format("Shop.Other{}()", i), "Shop", FrameKind::kManaged});
    profile.stacks.push_back({StackNodeId{1}, FrameId{i + 2}});
  }
  profile.threads = {{.thread = ThreadId{1}, .name = "busiest"},
                     {.thread = ThreadId{2}, .name = "hot"}};
  for (std::uint32_t i = 0; i < 11; ++i) {
    const bool hot = i >= 6;
    profile.threads[hot ? 1 : 0].samples.push_back(i);
    profile.samples.push_back({.weight = 1ms,
                               .stack = StackNodeId{hot ? 2U : 3U + i},
                               .state = analyze::ThreadState::kRunning});
  }
  const auto facts = cpu_facts(profile, true);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->threads[0].name, "busiest");
  EXPECT_EQ(facts->hot_thread_name, "hot");
  ASSERT_THAT(facts->hot_path, SizeIs(2));
  EXPECT_EQ(facts->hot_path[0].method, "Shop.Price()");
}

}  // namespace
}  // namespace clrscope::doctor
