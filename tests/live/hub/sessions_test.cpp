// Sessions of real runtimes, replaced under listeners that must not notice.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <charconv>

#include "collect/eventpipe/live_source.h"
#include "hub/hub.h"
#include "live/hub/kinds_sink.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using testing::Ge;

constexpr auto kFlood = "Clrscope-Samples-Flood";
constexpr std::int64_t kKinds = 5;
constexpr std::uint32_t kDrop = 1, kOne = 2, kTwo = 3, kLoud = 4, kSame = 5;

std::shared_ptr<hub::Source> source_of(const Target& target, int major) {
  return collect::make_live_source({.id = 1,
                                    .pid = target.pid(),
                                    .process = "samples",
                                    .runtime = std::to_string(major) + ".0.0"},
                                   target.endpoint());
}

hub::SessionRequest flood(std::uint64_t keywords, std::uint8_t level = 4) {
  return {.providers = {{.name = kFlood, .keywords = keywords, .level = level}}};
}

// An EventSource gives these to all its events, beside their own.
constexpr std::uint64_t kAnyOfIts = 0xf00000000000;

std::vector<std::uint32_t> kinds_of(const hub::ProviderRequest& request) {
  const bool all = (request.keywords & kAnyOfIts) != 0;
  std::vector<std::uint32_t> kinds;
  if (all) kinds.push_back(kDrop);
  if (all || (request.keywords & 1) != 0) kinds.push_back(kOne);
  if (all || (request.keywords & 2) != 0) kinds.push_back(kTwo);
  if ((all || (request.keywords & 1) != 0) && request.level >= 5) kinds.push_back(kLoud);
  if (all || (request.keywords & 4) != 0) kinds.push_back(kSame);
  return kinds;
}

struct Ear {
  hub::SessionRequest request{};
  hub::ListenerId id{};
  KindsSink::Shared heard = std::make_shared<Guarded<Heard>>();

  std::uint64_t count() const {
    return heard->with([](const Heard& all) {
      std::uint64_t sum = 0;
      for (const auto& [kind, one] : all.counts) sum += one;
      return sum;
    });
  }
};

Ear listen(hub::Hub& hub, hub::SessionRequest request) {
  Ear ear{.request = request};
  auto id = hub.add(std::move(request), std::make_unique<KindsSink>(ear.heard));
  EXPECT_TRUE(id) << (id ? "" : id.error().what);
  if (id) ear.id = *id;
  return ear;
}

// Every number once and in order, none missing between the first and the last, nothing else.
void expect_whole(const Ear& ear) {
  ear.heard->with([&](const Heard& heard) {
    const auto kinds = kinds_of(ear.request.providers.front());
    for (const auto& [kind, count] : heard.counts)
      EXPECT_TRUE(std::ranges::find(kinds, kind) != kinds.end()) << "unasked kind " << kind;
    EXPECT_EQ(heard.dropped, 0U);
    for (const auto& [key, numbers] : heard.numbers)
      for (std::size_t i = 1; i < numbers.size(); ++i)
        ASSERT_EQ(numbers[i], numbers[i - 1] + kKinds)
            << "kind " << key.first << ", thread " << key.second << ", keywords "
            << ear.request.providers.front().keywords;
  });
}

std::vector<std::int64_t> written_by_thread(const std::string& done) {
  std::vector<std::int64_t> all;
  constexpr std::string_view kKey = "\"written\":";
  for (auto at = done.find(kKey); at != std::string::npos; at = done.find(kKey, at + 1)) {
    std::int64_t number = 0;
    std::from_chars(done.data() + at + kKey.size(), done.data() + done.size(), number);
    all.push_back(number);
  }
  return all;
}

// From the first event to the last: exactly what was written.
void expect_all(const Ear& ear, const std::vector<std::int64_t>& written) {
  expect_whole(ear);
  ear.heard->with([&](const Heard& heard) {
    for (const auto kind : kinds_of(ear.request.providers.front())) {
      std::int64_t total = 0;
      for (std::size_t thread = 0; thread < written.size(); ++thread) {
        const auto expected = (written[thread] + kKinds - kind) / kKinds;
        total += expected;
        if (kind == kSame) continue;
        const auto at = heard.numbers.find({kind, static_cast<std::int64_t>(thread)});
        ASSERT_TRUE(at != heard.numbers.end());
        EXPECT_EQ(at->second.front(), kind - 1);
        EXPECT_EQ(at->second.size(), static_cast<std::size_t>(expected)) << "kind " << kind;
      }
      EXPECT_EQ(heard.counts.at(kind), static_cast<std::uint64_t>(total)) << "kind " << kind;
    }
  });
}

class HubTest : public LiveTest {};

TEST_P(HubTest, ReplacesSessionsWithoutLosingOrDoublingAnEvent) {
  const auto target = start_ready(
      {"flood", "--kinds", "--threads", "2", "--rate", "4000", "--wait-line", "--seconds", "300"});
  ASSERT_FALSE(HasFailure());
  hub::Hub hub{std::chrono::hours{1}};  // when it happens is for us to say
  ASSERT_TRUE(hub.attach(source_of(*target, major_version())));
  const std::vector<Ear> steady{listen(hub, flood(0x1)), listen(hub, flood(0x2)),
                                listen(hub, flood(0x4))};
  const auto status = [&] { return hub.processes().front(); };
  EXPECT_EQ(status().sessions, 3U);
  target->go();  // all three from its first event on
  ASSERT_TRUE(eventually([&] { return steady.back().count() > 0; }));
  ASSERT_TRUE(hub.consolidate());
  EXPECT_EQ(status().sessions, 1U);
  // A hundred come and go, at most three at a time: what is needed is another thing each time.
  const std::vector<hub::SessionRequest> requests{flood(0x1),    flood(0x2),       flood(0x5),
                                                  flood(0x3, 5), flood(kAnyOfIts), flood(0x7, 5),
                                                  flood(0x6)};
  std::vector<Ear> guests;
  std::uint64_t heard = 0;
  const auto let_go = [&] {
    const auto leaver = guests.front();
    guests.erase(guests.begin());
    const auto summary = hub.remove(leaver.id);
    EXPECT_EQ(summary.lost + summary.dropped, 0U);
    heard += summary.events;
    expect_whole(leaver);
  };
  for (std::size_t i = 0; i < 100; ++i) {
    guests.push_back(listen(hub, requests[i % requests.size()]));
    if (i % 2 == 1) {
      ASSERT_TRUE(hub.consolidate());
    }
    const auto& newest = guests.back();
    ASSERT_TRUE(eventually([&] { return newest.count() > 20; }))
        << "guest " << i << " heard " << newest.count() << " events, the first steady one "
        << steady.front().count() << "; sessions: " << status().sessions;
    if (guests.size() > 2 || i % 3 == 2) let_go();
  }
  while (!guests.empty()) let_go();
  EXPECT_GT(heard, 1000U);
  // The wide ones have left: the sessions are as narrow as those who stay need them.
  ASSERT_TRUE(hub.consolidate());
  EXPECT_EQ(status().sessions, 1U);
  EXPECT_THAT(status().switches, Ge(30U));
  RecordProperty("switches", static_cast<int>(status().switches));
  ::kill(target->pid(), SIGTERM);
  const auto written = written_by_thread(target->next_line());
  ASSERT_EQ(written.size(), 2U);
  ASSERT_TRUE(eventually([&] { return !status().ended.empty(); }));
  for (const auto& ear : steady) {
    const auto summary = hub.remove(ear.id);
    EXPECT_EQ(summary.lost + summary.dropped, 0U);
    expect_all(ear, written);
  }
}

// Nothing in them tells them apart: only in which place a session is, and the time.
TEST_P(HubTest, ReplacesSessionsWhoseEventsAreAllAlike) {
  const auto target = start_ready(
      {"flood", "--kinds", "--threads", "2", "--rate", "4000", "--wait-line", "--seconds", "300"});
  ASSERT_FALSE(HasFailure());
  hub::Hub another{std::chrono::hours{1}};  // takes places in the runtime, unknown to the other
  ASSERT_TRUE(another.attach(source_of(*target, major_version())));
  auto stranger = listen(another, flood(0x1));
  hub::Hub hub{std::chrono::hours{1}};
  ASSERT_TRUE(hub.attach(source_of(*target, major_version())));
  const auto steady = listen(hub, flood(0x4));
  target->go();
  for (std::size_t i = 0; i < 30; ++i) {
    const auto guest = listen(hub, flood(0x4, 5));
    if (i % 10 == 5) another.remove(stranger.id);
    if (i % 10 == 9) stranger = listen(another, flood(0x1));
    ASSERT_TRUE(hub.consolidate());
    ASSERT_TRUE(eventually([&] { return guest.count() > 10; }));
    hub.remove(guest.id);
    ASSERT_TRUE(hub.consolidate());
  }
  EXPECT_EQ(hub.processes().front().switches, 60U);
  ::kill(target->pid(), SIGTERM);
  const auto written = written_by_thread(target->next_line());
  ASSERT_EQ(written.size(), 2U);
  ASSERT_TRUE(eventually([&] { return !hub.processes().front().ended.empty(); }));
  EXPECT_EQ(hub.remove(steady.id).lost, 0U);
  expect_all(steady, written);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, HubTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
