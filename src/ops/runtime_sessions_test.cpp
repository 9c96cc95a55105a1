#include "ops/runtime_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using ::testing::ElementsAre;

const PerfGrant kGranted{.works = true};

// "0x38:5" of each session, "exceptions 0x8000:2" of those that end where they are dear.
std::vector<std::string> sessions(const ProviderWords& words) {
  const auto plan = plan_recording(words, kGranted);
  std::vector<std::string> all;
  for (const auto& one : runtime_sessions(*plan, 256, true)) {
    std::string text = one.what;
    for (const auto& provider : one.session.providers)
      text += fmt::format("{}{:#x}:{}", text.empty() ? "" : " ", provider.keywords,
                          static_cast<unsigned>(provider.level));
    EXPECT_EQ(one.while_cheap, !one.what.empty());
    EXPECT_EQ(one.session.rundown_keyword, all.empty() ? ipc::kDefaultRundown : 0);
    all.push_back(text);
  }
  return all;
}

TEST(RuntimeSessions, AskForNoMoreThanIsPrinted) {
  EXPECT_THAT(sessions({}), ElementsAre("0x38:5", "0x1000020005:4", "exceptions 0x8000:2",
                                        "thread pool events 0x10000:4"));
  EXPECT_THAT(sessions({.profiles = "cpu-sampling"}), ElementsAre("0x38:5"));
}

// Which of the sessions have stacks.
std::vector<bool> stacks(const ProviderWords& words, const PerfGrant& grant = kGranted) {
  const auto plan = plan_recording(words, grant);
  std::vector<bool> all;
  for (const auto& one : runtime_sessions(*plan, 256, true)) all.push_back(one.session.stacks);
  return all;
}

TEST(RuntimeSessions, AskForStacksOnlyWhereSomebodyUsesThem) {
  // Names, collections, exceptions, thread pool.
  EXPECT_THAT(stacks({}), ElementsAre(false, false, true, false));
  EXPECT_THAT(stacks({.profiles = "cpu-sampling"}), ElementsAre(false));
  EXPECT_THAT(stacks({.profiles = "dotnet-common,cpu-sampling"}), ElementsAre(true, true));
  EXPECT_THAT(stacks({.profiles = "cpu-sampling", .providers = {"Shop:1:4"}}), ElementsAre(true));
}

TEST(RuntimeSessions, LeaveDetailsOfCollectionsOutUnlessSomebodyNamesTheEvents) {
  const auto unwanted = [](const ProviderWords& words) {
    const auto plan = plan_recording(words, kGranted);
    return runtime_sessions(*plan, 256, true)[1].session.providers[0].unwanted_ids;
  };
  EXPECT_THAT(unwanted({}), ElementsAre(39U, 202U));
  EXPECT_THAT(unwanted({.profiles = "dotnet-common,cpu-sampling"}), ElementsAre());
}

TEST(RuntimeSessions, AskForSingleEventsOfTheRuntimeApartFromItsNames) {
  const auto plan =
      plan_recording({.profiles = "thread-time",
                      .providers = {"Microsoft-Windows-DotNETRuntime[1,143]:0x11:4,Shop[7]:1:4"}},
                     kGranted);
  const auto all = runtime_sessions(*plan, 256, true);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].session.providers[0].event_ids.empty());
  EXPECT_THAT(all[0].session.providers[1].event_ids, ElementsAre(7U));
  EXPECT_EQ(all[1].session.providers[0].keywords, 1U);  // methods come with the names
  EXPECT_THAT(all[1].session.providers[0].event_ids, ElementsAre(1U, 143U, 3U, 7U, 8U, 9U));
  EXPECT_EQ(all[2].what, "lock waits");
}

TEST(RuntimeSessions, AskForAllThatWasNamed) {
  EXPECT_THAT(sessions({.profiles = "dotnet-common,cpu-sampling"}),
              ElementsAre("0x38:5", "0x1000038005:4"));
  EXPECT_THAT(sessions({.profiles = "gc-verbose,cpu-sampling"}), ElementsAre("0x803b:5"));
  EXPECT_THAT(sessions({.profiles = "cpu-sampling",
                        .providers = {"Microsoft-Windows-DotNETRuntime:0xC000:4"}}),
              ElementsAre("0x38:5", "0xc000:4"));
}

TEST(RuntimeSessions, TellWaitsApartWhileThatIsCheap) {
  EXPECT_THAT(sessions({.profiles = "thread-time"}),
              ElementsAre("0x38:5", "0x1:4", "lock waits 0x4000:4"));
  EXPECT_THAT(sessions({.profiles = "thread-time", .clr_events = "contention"}),
              ElementsAre("0x38:5", "0x4001:4"));
}

// A worker that runs out of work tells so, which can be more often than there are requests.
TEST(RuntimeSessions, LeaveIdleWorkersOut) {
  const auto plan = plan_recording({}, kGranted);
  const auto all = runtime_sessions(*plan, 256, true);
  const auto& pool = all.back();
  ASSERT_EQ(pool.what, "thread pool events");
  EXPECT_FALSE(pool.session.stacks);
  const auto& ids = pool.session.providers.at(0).event_ids;
  EXPECT_THAT(ids, ::testing::Contains(55));
  EXPECT_THAT(ids, ::testing::Not(::testing::Contains(57)));
}

TEST(RuntimeSessions, SetApartWhatNobodyNamed) {
  EXPECT_THAT(sessions({.profiles = "cpu-sampling",
                        .providers = {"Microsoft-Windows-DotNETRuntime:0x1c019:4"},
                        .by_name = false}),
              ElementsAre("0x38:5", "0x1:4", "exceptions 0x8000:2", "lock waits 0x4000:4",
                          "thread pool events 0x10000:4"));
}

}  // namespace
}  // namespace clrscope::ops
