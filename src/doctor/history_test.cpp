#include "doctor/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::doctor {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Kind = FindingChange::Kind;

WallTime at(int second) { return WallTime{std::chrono::seconds{second}}; }
Report report(std::string_view id, std::string title) {
  Report one{.title = std::move(title)};
  one.id = id;
  return one;
}

TEST(FindingHistory, TellsWhatBeginsOnce) {
  FindingHistory history;
  const auto changes = history.add(at(5), {report("CS1001", "Deadlock: 2 threads")});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, Kind::kBegan);
  EXPECT_EQ(changes[0].time, at(5));
  EXPECT_THAT(history.add(at(10), {report("CS1001", "Deadlock: 3 threads")}), IsEmpty());
}

TEST(FindingHistory, EndsWhatTwoExaminationsMissAtTheTimeOfTheFirst) {
  FindingHistory history;
  history.add(at(5), {report("CS1307", "Thread leak: 10 threads, 4.8 more")});
  history.add(at(10), {report("CS1307", "Thread leak: 20 threads, 5.1 more")});
  EXPECT_THAT(history.add(at(15), {}), IsEmpty());
  const auto changes = history.add(at(20), {});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].kind, Kind::kEnded);
  EXPECT_EQ(changes[0].began, at(5));
  EXPECT_EQ(changes[0].time, at(15));
  EXPECT_EQ(changes[0].report.title, "Thread leak: 20 threads, 5.1 more");
  EXPECT_EQ(history.open(), 0U);
}

TEST(FindingHistory, KeepsWhatOnlyOneExaminationMisses) {
  FindingHistory history;
  history.add(at(5), {report("CS1003", "Lock convoy")});
  EXPECT_THAT(history.add(at(10), {}), IsEmpty());
  EXPECT_THAT(history.add(at(15), {report("CS1003", "Lock convoy")}), IsEmpty());
  EXPECT_THAT(history.add(at(20), {}), IsEmpty());
}

TEST(FindingHistory, TellsTwoAlikeApart) {
  FindingHistory history;
  const auto one = report("CS1001", "Deadlock: 2 threads");
  EXPECT_THAT(history.add(at(5), {one, one}), SizeIs(2));
  history.add(at(10), {one});
  EXPECT_THAT(history.add(at(15), {one}), SizeIs(1));
  EXPECT_EQ(history.open(), 1U);
}

TEST(FindingHistory, EndsAllWithTheProcess) {
  FindingHistory history;
  history.add(at(5), {report("CS1001", "a"), report("CS1002", "b")});
  EXPECT_THAT(history.end(at(7)), SizeIs(2));
  EXPECT_EQ(history.open(), 0U);
}

}  // namespace
}  // namespace clrscope::doctor
