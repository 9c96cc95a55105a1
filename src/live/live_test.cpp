#include "live/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/test_trace.h"
#include "base/guarded.h"
#include "base/json_reader.h"
#include "hub/derived.h"
#include "hub/test_source.h"
#include "live/answers.h"

namespace clrscope::live {
namespace {

using analyze::Payload;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr pid_t kPid = 4312;

EventType runtime_event(std::uint32_t id, std::uint32_t version, std::uint64_t keywords,
                        std::uint8_t level = 4) {
  EventType type{.index = id, .provider = std::string{kRuntimeProvider}, .name = {}, .id = id};
  type.version = version;
  type.keywords = keywords;
  type.level = level;
  return type;
}

template <class Condition>
bool comes_true(Condition&& condition) {
  const Deadline deadline{seconds{15}};
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(milliseconds{5});
  }
  return true;
}

// Keeps what it receives.
class Reads final : public Follower {
 public:
  bool on_item(const LiveItem& item) override {
    items.with([&](auto& all) { all.emplace_back(item.id, item.json); });
    return !stops;
  }
  bool on_tick() override { return !stops; }
  void on_missed(std::uint64_t count, bool exact) override {
    missed = static_cast<std::int64_t>(count);
    missed_exact = exact;
  }
  void on_end(const std::string& why) override {
    end.with([&](auto& text) { text = why; });
  }
  std::size_t count() const {
    return items.with([](const auto& all) { return all.size(); });
  }
  std::vector<std::pair<std::uint64_t, std::string>> all() const {
    return items.with([](const auto& all) { return all; });
  }

  Guarded<std::vector<std::pair<std::uint64_t, std::string>>> items;
  Guarded<std::string> end;
  std::atomic<bool> stops = false;
  std::atomic<std::int64_t> missed = -1;
  std::atomic<bool> missed_exact = false;
};

class LiveTest : public testing::Test {
 protected:
  LiveSetting setting() {
    LiveSetting setting;
    setting.interval = milliseconds{50};
    setting.find = [this](const LiveWho& who) -> Result<LiveTarget> {
      if (who.pid != kPid) return fail(Errc::kNotFound, "process {} does not exist", who.pid);
      ++found_;
      return LiveTarget{.source = source_};
    };
    return setting;
  }
  FeedRequest numbers() const {
    return events_feed({{.name = "Shop", .keywords = 1, .level = 4}}, {}, "");
  }
  void throw_one(std::string_view type, std::string_view message) {
    source_->emit(exception_, Payload{}
                                  .text(type)
                                  .text(message)
                                  .add(std::uint64_t{0})
                                  .add(0x80131509U)
                                  .add(std::uint16_t{0})
                                  .add(std::uint16_t{0})
                                  .bytes());
  }
  void collect(std::uint32_t number, milliseconds pause) {
    source_->emit(suspend_, Payload{}.add(1U).add(number).add(std::uint16_t{0}).bytes());
    source_->emit(start_, Payload{}
                              .add(number)
                              .add(2U)
                              .add(1U)
                              .add(0U)
                              .add(std::uint16_t{0})
                              .add(std::uint64_t{0})
                              .bytes());
    std::this_thread::sleep_for(pause);
    source_->emit(end_, Payload{}.add(number).add(2U).add(std::uint16_t{0}).bytes());
    source_->emit(restarted_, Payload{}.add(std::uint16_t{0}).bytes());
  }

  std::shared_ptr<hub::TestSource> source_ = std::make_shared<hub::TestSource>(kPid);
  std::atomic<int> found_ = 0;
  const EventType shop_ = hub::numbered("Shop", 7, 1);
  const EventType exception_ = runtime_event(80, 1, 0x8000, 2);
  const EventType suspend_ = runtime_event(9, 1, 1), start_ = runtime_event(1, 2, 1),
                  end_ = runtime_event(2, 1, 1), restarted_ = runtime_event(3, 1, 1);
};

TEST_F(LiveTest, IdleHasNoSession) {
  Live live{setting()};
  EXPECT_TRUE(live.status().empty());
  EXPECT_EQ(source_->opened, 0U);
}

TEST_F(LiveTest, ManyFollowersShareOneSession) {
  Live live{setting()};
  std::vector<std::shared_ptr<Reads>> readers;
  for (int i = 0; i < 200; ++i) {
    readers.push_back(std::make_shared<Reads>());
    ASSERT_TRUE(live.follow(kPid, {numbers()}, readers.back()));
  }
  EXPECT_EQ(source_->opened, 1U);
  EXPECT_EQ(found_, 1);
  for (int i = 0; i < 10; ++i) source_->emit(shop_, i);
  for (const auto& reader : readers) {
    ASSERT_TRUE(comes_true([&] { return reader->count() == 10; }));
    EXPECT_THAT(reader->all().back().second, testing::HasSubstr("\"n\":9"));
  }
  const auto status = live.status();
  ASSERT_EQ(status.size(), 1U);
  EXPECT_EQ(status[0].process.sessions, 1U);
  EXPECT_EQ(status[0].process.feeds[0].followers, 200U);
}

TEST_F(LiveTest, ClosesWhatNobodyAsksFor) {
  auto short_time = setting();
  short_time.limits.keep = milliseconds{200};
  Live live{short_time};
  const auto reader = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, reader));
  std::this_thread::sleep_for(milliseconds{500});
  EXPECT_EQ(source_->sessions(), 1U);  // followed: it stays
  reader->stops = true;
  EXPECT_TRUE(comes_true([&] { return source_->sessions() == 0; }));
  EXPECT_TRUE(comes_true([&] { return live.status().empty(); }));
  // And opens again.
  const auto again = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, again));
  source_->emit(shop_, 1);
  EXPECT_TRUE(comes_true([&] { return again->count() == 1; }));
}

TEST_F(LiveTest, GoesOnWhereAReaderWasCutOff) {
  Live live{setting()};
  const auto first = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, first));
  for (int i = 0; i < 5; ++i) source_->emit(shop_, i);
  ASSERT_TRUE(comes_true([&] { return first->count() == 5; }));
  first->stops = true;
  for (int i = 5; i < 9; ++i) source_->emit(shop_, i);
  const auto process = live.process(kPid);
  ASSERT_TRUE(process);
  const auto second = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, second, (*process)->id_text(first->all()[4].first)));
  source_->emit(shop_, 9);
  ASSERT_TRUE(comes_true([&] { return second->count() == 5; }));
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_THAT(second->all()[i].second, testing::HasSubstr(fmt::format("\"n\":{}", i + 5)));
  EXPECT_EQ(second->missed, -1);
}

TEST_F(LiveTest, TellsHowMuchWasMissed) {
  auto small = setting();
  small.limits.replay_bytes = 4 * (sizeof(LiveItem) + 300);
  Live live{small};
  const auto first = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, first));
  for (int i = 0; i < 20; ++i) source_->emit(shop_, i);
  ASSERT_TRUE(comes_true([&] { return first->count() == 20; }));
  const auto process = live.process(kPid);
  const auto second = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, second, (*process)->id_text(first->all()[4].first)));
  EXPECT_TRUE(second->missed_exact);
  EXPECT_GT(second->missed, 0);
  EXPECT_EQ(static_cast<std::size_t>(second->missed) + second->count(), 15U);
  // Of another time: nobody knows.
  const auto third = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {numbers()}, third, "12345-7"));
  EXPECT_FALSE(third->missed_exact);
}

TEST_F(LiveTest, ShowsCollectionsAsTheReportDoes) {
  Live live{setting()};
  ASSERT_TRUE(live.view(kPid, Topic::kGc, {}));
  EXPECT_EQ(source_->opened, 1U);
  const auto reader = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {runtime_feed(Topic::kGc)}, reader));
  collect(1, milliseconds{20});
  collect(2, milliseconds{40});
  ASSERT_TRUE(comes_true([&] { return reader->count() == 2; }));
  const auto view = live.view(kPid, Topic::kGc, {});
  ASSERT_TRUE(view);
  const auto json = read_json(view_json(*view));
  ASSERT_TRUE(json);
  ASSERT_EQ(json->find("collections")->array()->size(), 2U);
  const auto pause = json->find("collections")->array()->at(1).find("pauseMs")->number();
  EXPECT_GE(*pause, 40);
  EXPECT_LT(*pause, 400);
  EXPECT_THAT(view->summary, testing::HasSubstr("2 collections paused the program"));
  EXPECT_EQ(source_->sessions(), 1U);
}

TEST_F(LiveTest, CountsEveryException) {
  auto fine = setting();
  Live live{fine};
  ASSERT_TRUE(live.exceptions(kPid, 20));
  const auto process = live.process(kPid);
  const auto feed = (*process)->ask(runtime_feed(Topic::kExceptions));
  for (std::uint64_t i = 0; i < 2500; ++i) {
    throw_one("Shop.OutOfStock", fmt::format("item {}", i));
    // The hub's queue has room for so many that come one by one.
    ASSERT_TRUE(comes_true([&] { return (*feed)->exceptions.total() + 100 > i; }));
  }
  ASSERT_TRUE(comes_true([&] { return (*feed)->exceptions.total() == 2500; }));
  const auto last = live.exceptions(kPid, 3);
  ASSERT_EQ(last->thrown.size(), 3U);
  EXPECT_EQ(last->thrown.back().thrown.message, "item 2499");
  EXPECT_EQ(last->thrown.back().thrown.id, 2500U);
  const auto view = live.view(kPid, Topic::kExceptions, {});
  ASSERT_TRUE(view);
  EXPECT_THAT(view_json(*view), testing::HasSubstr("\"exceptions\":2500"));
}

TEST_F(LiveTest, GroupsAllExceptionsThatAreKept) {
  Live live{setting()};
  ASSERT_TRUE(live.exceptions(kPid, 20));
  const auto process = live.process(kPid);
  const auto feed = (*process)->ask(runtime_feed(Topic::kExceptions));
  throw_one("Shop.Rare", "once");
  for (std::uint64_t i = 0; i < 400; ++i) {
    throw_one("Shop.OutOfStock", fmt::format("item {}", i % 12));
    ASSERT_TRUE(comes_true([&] { return (*feed)->exceptions.total() + 100 > i; }));
  }
  ASSERT_TRUE(comes_true([&] { return (*feed)->exceptions.total() == 401; }));
  const auto view = live.view(kPid, Topic::kExceptions, {});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->recent->size(), 50U);
  EXPECT_EQ(view->grouped, 401U);
  ASSERT_EQ(view->groups->size(), 2U);
  const auto& many = view->groups->at(0);
  EXPECT_EQ(many.type, "Shop.OutOfStock");
  EXPECT_EQ(many.count, 400U);
  EXPECT_EQ(many.messages.size(), 10U);
  EXPECT_EQ(many.messages.front().text, "item 3");  // the newest: 399 % 12
  EXPECT_GT(many.more_messages, 0U);
  EXPECT_EQ(view->groups->at(1).type, "Shop.Rare");
  EXPECT_EQ(view->groups->at(1).count, 1U);
}

TEST_F(LiveTest, WithheldMessagesAreInNoAnswer) {
  Live live{setting()};
  const auto open = std::make_shared<Reads>(), reader = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {runtime_feed(Topic::kExceptions)}, open));
  ASSERT_TRUE(live.follow(kPid, {runtime_feed(Topic::kExceptions, Messages::kWithheld)}, reader));
  throw_one("Shop.OutOfStock", "pin 4711");
  ASSERT_TRUE(comes_true([&] { return reader->count() == 1 && open->count() == 1; }));
  EXPECT_THAT(open->all()[0].second, testing::HasSubstr("pin 4711"));
  EXPECT_THAT(reader->all()[0].second, testing::Not(testing::HasSubstr("4711")));
  const auto last = live.exceptions(kPid, 20, Messages::kWithheld);
  ASSERT_EQ(last->thrown.size(), 1U);
  EXPECT_EQ(last->thrown[0].thrown.message, kWithheldMessage);
  const auto view = live.view(kPid, Topic::kExceptions, {}, 0, Messages::kWithheld);
  ASSERT_TRUE(view);
  EXPECT_THAT(view_json(*view), testing::HasSubstr("Shop.OutOfStock"));
  EXPECT_THAT(view_json(*view), testing::Not(testing::HasSubstr("4711")));
  for (const auto& line : view->page.summary)
    EXPECT_THAT(line, testing::Not(testing::HasSubstr("4711")));
  EXPECT_EQ(source_->sessions(), 1U);
}

TEST_F(LiveTest, AProcessThatEndedKeepsItsDataAndSaysSo) {
  Live live{setting()};
  ASSERT_TRUE(live.exceptions(kPid, 20));
  const auto reader = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {runtime_feed(Topic::kExceptions)}, reader));
  throw_one("Shop.OutOfStock", "last");
  ASSERT_TRUE(comes_true([&] { return reader->count() == 1; }));
  source_->die();
  ASSERT_TRUE(
      comes_true([&] { return !reader->end.with([](const auto& text) { return text; }).empty(); }));
  const auto answer = live.exceptions(kPid, 20);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->source.ended, "the process has ended");
  ASSERT_EQ(answer->thrown.size(), 1U);
  EXPECT_EQ(answer->thrown[0].thrown.message, "last");
  const auto view = live.view(kPid, Topic::kGc, {});  // what was not watched cannot be shown
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Errc::kGone);
}

TEST_F(LiveTest, RefusalsAreErrorsAndNothingIsLeft) {
  Live live{setting()};
  EXPECT_FALSE(live.view(1, Topic::kGc, {}));
  source_->refuses = true;
  EXPECT_FALSE(live.view(kPid, Topic::kGc, {}));
  source_->refuses = false;
  EXPECT_TRUE(live.view(kPid, Topic::kGc, {}));
}

TEST_F(LiveTest, BoundsHowMuchIsToldASecond) {
  Live live{setting()};
  const auto reader = std::make_shared<Reads>();
  ASSERT_TRUE(live.follow(kPid, {runtime_feed(Topic::kExceptions)}, reader));
  const auto process = live.process(kPid);
  const auto feed = (*process)->ask(runtime_feed(Topic::kExceptions));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    throw_one("Shop.OutOfStock", "again");
    ASSERT_TRUE(comes_true([&] { return (*feed)->exceptions.total() + 100 > i; }));
  }
  ASSERT_TRUE(comes_true([&] {
    std::uint64_t told = 0;
    for (const auto& [id, json] : reader->all()) {
      const auto value = read_json(json);
      if (const auto* left = value->find("leftOut"))
        told += static_cast<std::uint64_t>(*left->integer());
      else
        ++told;
    }
    return told == 1000;
  }));
  EXPECT_LT(reader->count(), 700U);
}

}  // namespace
}  // namespace clrscope::live
