#include "hub/switch_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::hub {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;

TraceTime at(std::int64_t micros) { return TraceTime{microseconds{micros}}; }

// An event: thread, time, what it says.
struct Said {
  std::uint64_t thread;
  std::int64_t time;
  std::uint64_t content;
};

Event event_of(const Said& said) {
  Event event;
  event.capture_thread = said.thread;
  event.time = at(said.time);
  return event;
}

// What is handed on of the new session's events: their times.
std::vector<std::int64_t> handed_on(const std::vector<Said>& old, const std::vector<Said>& fresh,
                                    std::int64_t opened, std::int64_t on, bool old_first = true) {
  LastEvents last;
  for (const auto& said : old) last.note(event_of(said), said.content);
  CopyFilter filter{last, {.opened = at(opened), .on = at(on), .old_first = old_first}};
  std::vector<std::int64_t> times;
  for (const auto& said : fresh)
    if (!filter.is_copy(event_of(said), said.content)) times.push_back(said.time);
  return times;
}

TEST(SwitchOver, LeavesOutCopiesWhicheverSessionIsWrittenFirst) {
  const std::vector<Said> old{{1, 100, 7}, {1, 200, 8}, {1, 300, 9}};
  EXPECT_THAT(handed_on(old, {{1, 201, 8}, {1, 301, 9}, {1, 401, 5}}, 150, 160), ElementsAre(401));
  EXPECT_THAT(handed_on(old, {{1, 199, 8}, {1, 299, 9}, {1, 399, 5}}, 150, 160), ElementsAre(399));
}

TEST(SwitchOver, KnowsEventsThatAreTheSameAgainAndAgain) {
  const std::vector<Said> old{{1, 200, 7}, {1, 300, 7}};
  EXPECT_THAT(handed_on(old, {{1, 201, 7}, {1, 301, 7}, {1, 401, 7}}, 150, 160, true),
              ElementsAre(401));
  EXPECT_THAT(handed_on(old, {{1, 199, 7}, {1, 299, 7}, {1, 399, 7}}, 150, 160, false),
              ElementsAre(399));
  // The thread was put aside between the copies of its last one.
  EXPECT_THAT(handed_on(old, {{1, 201, 7}, {1, 380, 7}, {1, 401, 7}}, 150, 160, true),
              ElementsAre(401));
  EXPECT_THAT(handed_on(old, {{1, 199, 7}, {1, 205, 7}, {1, 399, 7}}, 150, 160, false),
              ElementsAre(399));
}

TEST(SwitchOver, LearnsWhichSessionIsWrittenFirst) {
  // Another thread's words tell for certain.
  EXPECT_THAT(
      handed_on({{2, 170, 2}, {2, 180, 3}, {1, 200, 7}, {1, 300, 7}},
                {{2, 169, 2}, {2, 179, 3}, {1, 199, 7}, {1, 299, 7}, {1, 399, 7}}, 150, 160, true),
      ElementsAre(399));
  // Many copies that are near tell more than what is believed; one does not, unless by far.
  std::vector<Said> old, fresh;
  for (int i = 2; i < 7; ++i) {
    old.push_back({1, 100 * i, 7});
    fresh.push_back({1, 100 * i - 5, 7});
  }
  fresh.push_back({1, 699, 7});
  EXPECT_THAT(handed_on(old, fresh, 150, 160, true), ElementsAre(699));
  EXPECT_THAT(handed_on({old.end() - 2, old.end()}, {fresh.end() - 3, fresh.end()}, 450, 460, true),
              ElementsAre());
  EXPECT_THAT(handed_on({{1, 20'000, 7}, {1, 40'000, 7}},
                        {{1, 19'999, 7}, {1, 39'999, 7}, {1, 59'999, 7}}, 15'000, 16'000, true),
              ElementsAre(59'999));
}

TEST(SwitchOver, KeepsWhatThreadsSayThatWereSilentMeanwhile) {
  // Before the new session: no copy, though the words are the same.
  EXPECT_THAT(handed_on({{1, 100, 7}}, {{1, 500, 7}}, 150, 160), ElementsAre(500));
  // While it was being opened: told by the time between.
  EXPECT_THAT(handed_on({{1, 155, 7}}, {{1, 100'155, 7}}, 150, 160), ElementsAre(100'155));
  EXPECT_THAT(handed_on({{1, 155, 7}}, {{1, 156, 7}, {1, 200, 7}}, 150, 160), ElementsAre(200));
  EXPECT_THAT(handed_on({{1, 95, 7}, {1, 155, 7}}, {{1, 215, 7}}, 150, 160), ElementsAre(215));
  EXPECT_THAT(handed_on({{1, 155, 7}}, {{1, 90'155, 7}}, 150, 100'000), ElementsAre());
  // After it: there is a copy, however late.
  EXPECT_THAT(handed_on({{1, 165, 7}}, {{1, 100'165, 7}, {1, 200'000, 7}}, 150, 160),
              ElementsAre(200'000));
  // Of a thread that the old session did not hear.
  EXPECT_THAT(handed_on({{1, 200, 7}}, {{2, 190, 7}, {1, 201, 7}}, 150, 160), ElementsAre(190));
}

TEST(SwitchOver, MindsNotThatTheRuntimeLostTheCopy) {
  EXPECT_THAT(handed_on({{1, 200, 8}, {1, 300, 9}}, {{1, 201, 8}, {1, 401, 5}}, 150, 160),
              ElementsAre(401));
}

TEST(SwitchOver, ContentIsTypeAndPayload) {
  EventType type{.provider = "P", .name = "N", .id = 3};
  auto other = type;
  other.index = 9;  // another reader counts otherwise
  EXPECT_EQ(content_of(type), content_of(other));
  other.id = 4;
  EXPECT_NE(content_of(type), content_of(other));
  const std::uint8_t one[] = {1}, two[] = {2};
  Event event;
  event.payload = one;
  const auto first = content_of(event, 5);
  event.payload = two;
  EXPECT_NE(first, content_of(event, 5));
}

}  // namespace
}  // namespace clrscope::hub
