#include "live/finding_history.h"

#include <gtest/gtest.h>

namespace clrscope::live {
namespace {

using std::chrono::seconds;

WallTime at(int second) { return WallTime{seconds{second}}; }

ops::ExaminationAnswer seen(int second, ops::Outcome outcome, const std::string& title = "") {
  ops::ExaminationAnswer answer{.time = at(second)};
  answer.examined.push_back({.id = "CS1001", .name = "lock cycle", .outcome = outcome});
  if (outcome == ops::Outcome::kFound)
    answer.findings.push_back({.id = "CS1001", .title = title, .severity = ops::Severity::kError});
  return answer;
}

TEST(FindingHistory, WhatTheFirstCheckFindsMayBeOlder) {
  FindingHistory history;
  history.add(seen(10, ops::Outcome::kFound, "2 threads"));
  history.add(seen(13, ops::Outcome::kFound, "3 threads"));
  const auto spans = history.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].began, at(10));
  EXPECT_FALSE(spans[0].not_before);
  EXPECT_FALSE(spans[0].ended);
  EXPECT_EQ(spans[0].title, "3 threads");
  EXPECT_EQ(spans[0].severity, ops::Severity::kError);
}

TEST(FindingHistory, WhatEndsIsKeptAndMayComeAgain) {
  FindingHistory history;
  history.add(seen(10, ops::Outcome::kNothing));
  history.add(seen(13, ops::Outcome::kFound, "first"));
  history.add(seen(16, ops::Outcome::kNothing));
  history.add(seen(19, ops::Outcome::kFound, "again"));
  const auto spans = history.spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].title, "again");
  EXPECT_EQ(spans[0].not_before, at(16));
  EXPECT_EQ(spans[0].began, at(19));
  EXPECT_EQ(spans[1].title, "first");
  EXPECT_EQ(spans[1].not_before, at(10));
  EXPECT_EQ(spans[1].began, at(13));
  EXPECT_EQ(spans[1].ended, at(16));
}

TEST(FindingHistory, SaysWhatACheckChanged) {
  FindingHistory history;
  EXPECT_TRUE(history.add(seen(10, ops::Outcome::kNothing)).empty());
  const auto began = history.add(seen(13, ops::Outcome::kFound, "2 threads"));
  ASSERT_EQ(began.size(), 1U);
  EXPECT_FALSE(began[0].ended);
  EXPECT_TRUE(history.add(seen(16, ops::Outcome::kFound, "3 threads")).empty());
  const auto ended = history.add(seen(19, ops::Outcome::kNothing));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].ended, at(19));
  EXPECT_EQ(ended[0].title, "3 threads");
}

TEST(FindingHistory, EndsWithTheProcess) {
  FindingHistory history;
  history.add(seen(13, ops::Outcome::kFound, "2 threads"));
  EXPECT_EQ(history.current().size(), 1U);
  const auto ended = history.end(at(20));
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].ended, at(20));
  EXPECT_TRUE(history.current().empty());
  EXPECT_TRUE(history.end(at(21)).empty());
}

TEST(FindingHistory, ACheckThatCouldNotRunEndsNothing) {
  FindingHistory history;
  history.add(seen(10, ops::Outcome::kFound, "it"));
  history.add(seen(13, ops::Outcome::kNotRun));
  history.add(seen(16, ops::Outcome::kFound, "it"));
  const auto spans = history.spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].began, at(10));
}

TEST(FindingHistory, OldOnesAreForgotten) {
  FindingHistory history;
  for (int i = 0; i < 200; ++i)
    history.add(seen(i, i % 2 == 0 ? ops::Outcome::kFound : ops::Outcome::kNothing, "it"));
  const auto spans = history.spans();
  ASSERT_EQ(spans.size(), 50U);
  EXPECT_EQ(spans[0].began, at(198));
}

}  // namespace
}  // namespace clrscope::live
