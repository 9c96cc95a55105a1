#include "hub/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <numeric>
#include <thread>

#include "hub/test_source.h"

namespace clrscope::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Numbers = std::vector<std::int32_t>;

// Keeps the numbers of the events it got.
class NumberSink final : public Sink {
 public:
  struct Got {
    Guarded<Numbers> numbers;
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<bool> hold{false};
    std::atomic<int> waiting{0};
    std::atomic<std::int32_t> count{0};
  };
  explicit NumberSink(std::shared_ptr<Got> got) : got_(std::move(got)) {}

  Result<> on_batch(const Batch& batch) override {
    while (got_->hold) {
      got_->waiting = 1;
      std::this_thread::yield();
    }
    got_->numbers.with([&](auto& numbers) {
      for (const auto row : batch.rows) {
        std::int32_t number = 0;
        std::memcpy(&number, batch.block->events()[row].payload.data(), sizeof number);
        numbers.push_back(number);
        ++got_->count;
      }
    });
    return {};
  }
  Result<> on_dropped(std::uint64_t events) override {
    got_->dropped += events;
    return {};
  }

 private:
  std::shared_ptr<Got> got_;
};

struct Ear {
  std::shared_ptr<NumberSink::Got> got = std::make_shared<NumberSink::Got>();
  ListenerId id{};

  Numbers numbers() const {
    return got->numbers.with([](const auto& all) { return all; });
  }
};

Ear listen(Hub& hub, SessionRequest request, Hub::Chooses chooses = {}) {
  Ear ear;
  const auto id = hub.add(std::move(request), std::make_unique<NumberSink>(ear.got), chooses);
  EXPECT_TRUE(id.has_value());
  ear.id = id.value_or(ListenerId{});
  return ear;
}

Numbers up_to(std::int32_t end) {
  Numbers all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

const auto kGc = numbered("Runtime", 1, 0x1);
const auto kJit = numbered("Runtime", 2, 0x10);
const auto kVerbose = numbered("Runtime", 3, 0x1, 5);
const auto kShop = numbered("Shop", 4, 0x1);

TEST(Hub, GivesEachListenerExactlyWhatItAskedFor) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto jit = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x10, .level = 5}}});
  const auto one = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x11, .ids = {2}}}});
  const auto shop = listen(hub, {.providers = {{.name = "Shop", .keywords = ~0ULL}}});
  for (const auto* type : {&kGc, &kJit, &kVerbose, &kShop})
    source->emit(*type, static_cast<std::int32_t>(type->id));
  for (const auto* ear : {&gc, &jit, &one, &shop}) hub.remove(ear->id);
  EXPECT_THAT(gc.numbers(), ElementsAre(1));
  EXPECT_THAT(jit.numbers(), ElementsAre(2));
  EXPECT_THAT(one.numbers(), ElementsAre(2));
  EXPECT_THAT(shop.numbers(), ElementsAre(4));
}

TEST(Hub, ServesEqualAndSmallerRequestsWithOneSessionAndClosesItAfterTheLast) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  EXPECT_EQ(source->sessions(), 0U);
  const SessionRequest wide{.providers = {{.name = "Runtime", .keywords = 0x11, .level = 5}}};
  const SessionRequest narrow{.providers = {{.name = "Runtime", .keywords = 0x1}}};
  const auto a = listen(hub, wide), b = listen(hub, wide), c = listen(hub, narrow);
  EXPECT_EQ(source->sessions(), 1U);
  hub.remove(a.id);
  hub.remove(b.id);
  EXPECT_EQ(source->sessions(), 1U);
  hub.remove(c.id);
  EXPECT_EQ(source->sessions(), 0U);
}

TEST(Hub, OpensASessionForWhatIsMissingOnly) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto a = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto b = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1},
                                            {.name = "Shop", .keywords = ~0ULL}}});
  ASSERT_EQ(source->requests().size(), 2U);
  ASSERT_EQ(source->requests()[1].providers.size(), 1U);
  EXPECT_EQ(source->requests()[1].providers[0].name, "Shop");
  source->emit(kGc, 7);
  source->emit(kShop, 8);
  hub.remove(a.id);
  hub.remove(b.id);
  EXPECT_THAT(a.numbers(), ElementsAre(7));
  EXPECT_THAT(b.numbers(), ElementsAre(7, 8));
}

TEST(Hub, LosesAndDoublesNothingWhileOthersComeAndGo) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto steady = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x11}}});
  constexpr std::int32_t kEvents = 2000;
  std::jthread emitter{[&] {
    for (std::int32_t i = 0; i < kEvents; ++i) {
      while (static_cast<std::int32_t>(steady.numbers().size()) + 100 < i)
        std::this_thread::yield();
      source->emit(i % 2 == 0 ? kGc : kJit, i);
    }
  }};
  for (int i = 0; i < 100; ++i) {
    const auto guest = listen(
        hub, {.providers = {{.name = "Runtime", .keywords = i % 2 == 0 ? 0x1ULL : 0x31ULL}}});
    if (hub.remove(guest.id).dropped != 0) continue;  // its thread got no CPU
    const auto numbers = guest.numbers();
    for (std::size_t n = 1; n < numbers.size(); ++n)
      ASSERT_EQ(numbers[n] - numbers[n - 1], i % 2 == 0 ? 2 : 1) << "a gap or a double";
  }
  emitter.join();
  const auto summary = hub.remove(steady.id);
  EXPECT_EQ(summary.dropped, 0U);
  EXPECT_EQ(steady.numbers(), up_to(kEvents));
}

TEST(Hub, ASlowSinkLosesItsOwnEventsOnlyAndIsToldSo) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const SessionRequest request{.providers = {{.name = "Runtime", .keywords = 0x1}}};
  const auto slow = listen(hub, request), quick = listen(hub, request);
  slow.got->hold = true;
  constexpr std::int32_t kEvents = 1000;
  for (std::int32_t i = 0; i < kEvents; ++i) {
    source->emit(kGc, i);
    while (static_cast<std::int32_t>(quick.numbers().size()) <= i) std::this_thread::yield();
  }
  slow.got->hold = false;
  while (slow.numbers().size() < 256) std::this_thread::yield();
  source->emit(kGc, kEvents);
  const auto quick_end = hub.remove(quick.id), slow_end = hub.remove(slow.id);
  EXPECT_EQ(quick_end.dropped, 0U);
  EXPECT_EQ(quick.numbers(), up_to(kEvents + 1));
  EXPECT_GT(slow_end.dropped, 0U);
  EXPECT_EQ(slow.got->dropped, slow_end.dropped);
  EXPECT_EQ(slow_end.events + slow_end.dropped, static_cast<std::uint64_t>(kEvents + 1));
}

TEST(Hub, ServesProcessesThatComeLater) {
  Hub hub;
  const auto all = listen(hub, {.providers = {{.name = "Shop", .keywords = ~0ULL}}});
  const auto second = listen(hub, {.providers = {{.name = "Shop", .keywords = ~0ULL}}},
                             [](const SourceInfo& source) { return source.pid == 2; });
  const auto one = std::make_shared<TestSource>(1), two = std::make_shared<TestSource>(2);
  ASSERT_TRUE(hub.attach(one));
  ASSERT_TRUE(hub.attach(two));
  one->emit(kShop, 1);
  two->emit(kShop, 2);
  hub.detach(1);
  one->emit(kShop, 3);
  hub.remove(all.id);
  hub.remove(second.id);
  EXPECT_THAT(all.numbers(), ElementsAre(1, 2));
  EXPECT_THAT(second.numbers(), ElementsAre(2));
}

TEST(Hub, ReplacesSessionsByFewerAndNarrowerOnesUnderRunningListeners) {
  Hub hub{std::chrono::hours{1}};
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  std::atomic<bool> stop{false};
  std::atomic<std::int32_t> written{0};
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto jit = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x10}}});
  std::thread writer{[&] {
    while (!stop) {
      const auto n = written++;
      source->emit(n % 2 == 0 ? kGc : kJit, n / 2);
      // Not faster than they take it: this is not about what is dropped.
      while (n / 2 > std::min(gc.got->count.load(), jit.got->count.load()) + 50)
        std::this_thread::yield();
    }
  }};
  for (int i = 0; i < 50; ++i) {
    const auto wide = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x11, .level = 5},
                                                 {.name = "Shop", .keywords = 1}}});
    ASSERT_TRUE(hub.consolidate());
    EXPECT_EQ(source->sessions(), 1U);
    hub.remove(wide.id);
    ASSERT_TRUE(hub.consolidate());
    EXPECT_EQ(source->sessions(), 1U);
    EXPECT_EQ(source->requests().back().providers,
              (std::vector<ProviderRequest>{{.name = "Runtime", .keywords = 0x11}}));
  }
  stop = true;
  writer.join();
  EXPECT_EQ(hub.processes().front().switches, 100U);
  EXPECT_EQ(hub.remove(gc.id).dropped, 0U);
  EXPECT_EQ(hub.remove(jit.id).dropped, 0U);
  EXPECT_EQ(gc.numbers(), up_to((written + 1) / 2));
  EXPECT_EQ(jit.numbers(), up_to(written / 2));
}

TEST(Hub, LooksOverItsSessionsWhenThingsHaveSettled) {
  Hub hub{std::chrono::milliseconds{1}};
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto jit = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x10}}});
  while (source->sessions() != 1) std::this_thread::yield();
}

TEST(Hub, EndsNoSessionOfAConfiguredProviderThatOthersHave) {
  Hub hub{std::chrono::hours{1}};
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto logs = [](std::uint8_t level) {
    return SessionRequest{
        .providers = {{.name = "Runtime", .keywords = 0x1, .level = level, .arguments = "f=a"}}};
  };
  const auto loud = listen(hub, logs(5));
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto quiet = listen(hub, logs(4));  // covered
  auto odd = logs(4);
  odd.providers.front().arguments = "f=b";
  const auto other = listen(hub, odd);
  EXPECT_EQ(source->opened, 3U);
  ASSERT_TRUE(hub.consolidate());
  hub.remove(loud.id);
  hub.remove(quiet.id);
  ASSERT_TRUE(hub.consolidate());
  EXPECT_EQ(source->opened, 3U);
  EXPECT_EQ(source->sessions(), 3U);
  source->emit(kGc, 7);
  hub.remove(other.id);
  EXPECT_EQ(source->sessions(), 1U);
  hub.remove(gc.id);
  EXPECT_EQ(source->sessions(), 0U);
  EXPECT_THAT(other.numbers(), ElementsAre(7));
  EXPECT_THAT(quiet.numbers(), IsEmpty());
}

TEST(Hub, StaysAsItIsWhenAReplacementIsRefused) {
  Hub hub{std::chrono::hours{1}};
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto jit = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x10}}});
  source->refuses = true;
  EXPECT_FALSE(hub.consolidate());
  EXPECT_EQ(source->sessions(), 2U);
  source->emit(kGc, 1);
  source->emit(kJit, 2);
  hub.remove(gc.id);
  hub.remove(jit.id);
  EXPECT_THAT(gc.numbers(), ElementsAre(1));
  EXPECT_THAT(jit.numbers(), ElementsAre(2));
}

TEST(Hub, GivesAnEventOnceWhenTwoRequestsOfAListenerTakeIt) {
  Hub hub{std::chrono::hours{1}};
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto gc = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  const auto both = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1},
                                               {.name = "Runtime", .keywords = 0x11, .level = 5}}});
  source->emit(kGc, 1);
  source->emit(kJit, 2);
  hub.remove(both.id);
  EXPECT_THAT(both.numbers(), testing::UnorderedElementsAre(1, 2));
}

TEST(Hub, AWaitingListenerHoldsUpItsOwnSessionOnlyAndLosesNothing) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  SessionRequest request{.providers = {{.name = "Runtime", .keywords = 0x1}}};
  const auto quick = listen(hub, request);
  request.waits = true;
  const auto slow = listen(hub, request);
  EXPECT_EQ(source->sessions(), 2U);
  slow.got->hold = true;
  constexpr std::int32_t kEvents = 1000;  // more than its queue takes
  std::thread writer{[&] {
    for (std::int32_t i = 0; i < kEvents; ++i) source->emit(kGc, i);
  }};
  while (slow.got->waiting < 1) std::this_thread::yield();
  slow.got->hold = false;
  writer.join();
  EXPECT_EQ(hub.remove(slow.id).dropped, 0U);
  EXPECT_EQ(slow.numbers(), up_to(kEvents));
  hub.remove(quick.id);
}

TEST(Hub, AWaitingListenerThatNeverGoesOnIsLetGo) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  SessionRequest request{.providers = {{.name = "Runtime", .keywords = 0x1}}, .waits = true};
  const auto slow = listen(hub, request);
  slow.got->hold = true;
  std::atomic<int> written{0};
  std::thread writer{[&] {
    for (std::int32_t i = 0; i < 400; ++i, ++written) source->emit(kGc, i);
  }};
  while (written < 257) std::this_thread::yield();  // one is with the sink, the queue is full
  std::thread opener{[&] {
    writer.join();
    slow.got->hold = false;
  }};
  const auto summary = hub.remove(slow.id);  // after its last wait what is left is dropped
  opener.join();
  EXPECT_GE(summary.events, 256U);
  EXPECT_GT(summary.dropped, 0U);
}

TEST(Hub, ARefusedListenerChangesNothing) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  const auto steady = listen(hub, {.providers = {{.name = "Runtime", .keywords = 0x1}}});
  source->refuses = true;
  const auto refused = hub.add(
      {.providers = {{.name = "Runtime", .keywords = 0x1}, {.name = "Shop", .keywords = 1}}},
      std::make_unique<NumberSink>(std::make_shared<NumberSink::Got>()));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(source->sessions(), 1U);
  source->emit(kGc, 5);
  hub.remove(steady.id);
  EXPECT_THAT(steady.numbers(), ElementsAre(5));
}

TEST(Hub, PassesOnOnlyWhatItsFilterTakes) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  ASSERT_TRUE(hub.attach(source));
  SessionRequest request{.providers = {{.name = "Runtime", .keywords = 0x1}}};
  request.where = *Where::parse("n>=2 n!=3 name=Num*");
  const auto some = listen(hub, std::move(request));
  for (std::int32_t i = 0; i < 5; ++i) source->emit(kGc, i);
  hub.remove(some.id);
  EXPECT_THAT(some.numbers(), ElementsAre(2, 4));
}

TEST(Hub, ServesAPatternWithWhatTheProcessHasAndWithWhatComesLater) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  source->has.with([](auto& has) {
    has = {.event_sources = {"Shop", "System.Runtime", "System.Buffers.ArrayPoolEventSource"},
           .incomplete = "one is missing"};
  });
  ASSERT_TRUE(hub.attach(source));
  const auto all = listen(hub, {.counters = {{.provider = "*"}}});
  // System.Runtime is a meter here, and an array pool has no counters.
  ASSERT_EQ(source->requests().size(), 1U);
  ASSERT_EQ(source->requests()[0].providers.size(), 2U);
  const auto shop = source->requests()[0].providers[0];
  EXPECT_EQ(shop.name, "Shop");
  EXPECT_EQ(shop.keywords, 0U);
  EXPECT_EQ(shop.level, 1);  // switches on none of its events
  EXPECT_THAT(source->requests()[0].providers[1].arguments, HasSubstr("Metrics=*;"));

  source->has.with([](auto& has) { has.event_sources.push_back("Later"); });
  hub.look_for_counters();
  ASSERT_EQ(source->requests().size(), 2U);
  ASSERT_EQ(source->requests()[1].providers.size(), 1U);
  EXPECT_EQ(source->requests()[1].providers[0].name, "Later");
  hub.look_for_counters();
  EXPECT_EQ(source->requests().size(), 2U);
  EXPECT_THAT(hub.remove(all.id).notices, ElementsAre("shop (1): one is missing"));
}

TEST(Hub, AsksAgainForALaterSourceThatWasRefused) {
  Hub hub;
  const auto source = std::make_shared<TestSource>(1);
  source->has.with([](auto& has) { has.event_sources = {"Shop"}; });
  ASSERT_TRUE(hub.attach(source));
  const auto all = listen(hub, {.counters = {{.provider = "*"}}});
  source->has.with([](auto& has) { has.event_sources.push_back("Later"); });
  source->refuses = true;
  hub.look_for_counters();
  EXPECT_EQ(source->requests().size(), 1U);
  source->refuses = false;
  hub.look_for_counters();
  ASSERT_EQ(source->requests().size(), 2U);
  EXPECT_EQ(source->requests()[1].providers[0].name, "Later");
}

TEST(EventSelection, PutsNamesInThePlaceOfPatterns) {
  const CounterSources has{.event_sources = {"Shop.Orders", "System.Runtime"},
                           .meters = {"Shop.Meter", "Other"}};
  const auto names = [&](const CounterRequest& request, std::uint32_t major) {
    std::vector<std::string> all;
    for (const auto& one : expand({request}, has, major))
      all.push_back((one.kind == CounterRequest::Kind::kMeter ? "Meter " : "") + one.provider);
    return all;
  };
  EXPECT_THAT(names({.provider = "*"}, 8),
              ElementsAre("Shop.Orders", "System.Runtime", "Meter Shop.Meter", "Meter Other"));
  EXPECT_THAT(names({.provider = "*"}, 9), ElementsAre("Shop.Orders", "Meter *"));
  EXPECT_THAT(names({.provider = "Shop.*"}, 8), ElementsAre("Shop.Orders", "Meter Shop.Meter"));
  EXPECT_THAT(names({.provider = "Shop.*"}, 10), ElementsAre("Shop.Orders", "Meter Shop.*"));
  EXPECT_THAT(names({.provider = "S?op.*"}, 10), ElementsAre("Shop.Orders", "Meter *"));
  EXPECT_THAT(names({.provider = "*", .kind = CounterRequest::Kind::kEventCounters}, 10),
              ElementsAre("Shop.Orders", "System.Runtime"));
}

TEST(EventSelection, TakesAPatternOfMetersForAllThatItCovers) {
  const auto metrics = [](const std::string& meters) {
    return providers_for({{.provider = meters, .kind = CounterRequest::Kind::kMeter}}, 10).front();
  };
  EXPECT_TRUE(covers(metrics("*"), metrics("Shop")));
  EXPECT_TRUE(covers(metrics("Sh*"), metrics("Shop")));
  EXPECT_FALSE(covers(metrics("Sh*"), metrics("Other")));
  EXPECT_FALSE(covers(metrics("Shop"), metrics("*")));
  EXPECT_TRUE(wanted({{.provider = "Sh*"}}, {.provider = "Shop", .name = "orders"}));
  EXPECT_FALSE(wanted({{.provider = "Sh*"}}, {.provider = "Other", .name = "orders"}));
}

TEST(EventSelection, CoversWhatIsSmallerWithTheSameArguments) {
  const ProviderRequest has{.name = "P", .keywords = 0x3, .level = 4, .arguments = "a=1"};
  const auto wants = [&](auto change) {
    auto request = has;
    change(request);
    return covers(has, request);
  };
  EXPECT_TRUE(wants([](auto& w) { w.keywords = 0x1; }));
  EXPECT_TRUE(wants([](auto& w) { w.ids = {1, 2}; }));
  EXPECT_FALSE(wants([](auto& w) { w.keywords = 0x4; }));
  EXPECT_FALSE(wants([](auto& w) { w.level = 5; }));
  EXPECT_FALSE(wants([](auto& w) { w.arguments = "a=2"; }));
  EXPECT_FALSE(wants([](auto& w) { w.name = "Q"; }));
}

TEST(EventSelection, AsksMetersOnceWithOneSetOfLimits) {
  const auto providers = providers_for(
      {{.provider = "System.Runtime"}, {.provider = "Shop", .names = {"orders", "queue"}}}, 10);
  ASSERT_EQ(providers.size(), 2U);  // Shop may publish EventCounters too
  EXPECT_EQ(providers[0].name, "Shop");
  EXPECT_EQ(providers[1].arguments,
            "SessionId=SHARED;Metrics=System.Runtime,Shop\\orders,Shop\\queue;RefreshInterval=1;"
            "MaxTimeSeries=1000;MaxHistograms=50");
  EXPECT_EQ(
      providers_for({{.provider = "Meter"}}, 10, {.histograms = 20, .series = 7}).back().arguments,
      "SessionId=SHARED;Metrics=Meter;RefreshInterval=1;MaxTimeSeries=7;MaxHistograms=20");
  const auto old = providers_for({{.provider = "System.Runtime"}}, 8);
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].name, "System.Runtime");
}

TEST(Where, SaysWhatIsNoCondition) {
  EXPECT_FALSE(Where::parse("depth").has_value());
  EXPECT_FALSE(Where::parse("=3").has_value());
  EXPECT_FALSE(Where::parse("a!3").has_value());
  EXPECT_FALSE(Where::parse("a<b").has_value());
  EXPECT_TRUE(Where::parse("").has_value());
  EXPECT_TRUE(Where::parse("name=\"a b\" x>=-1.5").has_value());
}

}  // namespace
}  // namespace clrscope::hub
