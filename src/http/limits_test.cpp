#include "http/limits.h"

#include <gtest/gtest.h>

#include <vector>

namespace clrscope::http {
namespace {

constexpr Limits::Table kSmall{{{"", 0, 0},
                                {"requests", 4, 2},
                                {"recordings", 1, 1},
                                {"memory", 1, 1},
                                {"streams", 3, 3},
                                {"conversions", 1, 1},
                                {"", 0, 0}}};

bool full(const std::variant<Limits::Place, Limits::Full>& place) {
  return std::holds_alternative<Limits::Full>(place);
}

TEST(Limits, OneCallerDoesNotTakeAllPlaces) {
  Limits limits{kSmall};
  const auto a1 = limits.enter(Load::kRequest, "a");
  const auto a2 = limits.enter(Load::kRequest, "a");
  const auto a3 = limits.enter(Load::kRequest, "a");
  ASSERT_TRUE(full(a3));
  EXPECT_EQ(std::get<Limits::Full>(a3).limit, "requests");
  EXPECT_TRUE(std::get<Limits::Full>(a3).of_caller);
  const auto b1 = limits.enter(Load::kRequest, "b");
  EXPECT_FALSE(full(b1));
  EXPECT_FALSE(full(limits.enter(Load::kRecording, "a")));
}

TEST(Limits, AllTogetherAreBounded) {
  Limits limits{kSmall};
  std::vector<std::variant<Limits::Place, Limits::Full>> places;
  for (const auto* caller : {"a", "b", "c", "d"})
    places.push_back(limits.enter(Load::kRequest, caller));
  const auto more = limits.enter(Load::kRequest, "e");
  ASSERT_TRUE(full(more));
  EXPECT_FALSE(std::get<Limits::Full>(more).of_caller);
  EXPECT_EQ(std::get<Limits::Full>(more).most, 4U);
}

TEST(Limits, APlaceIsGivenBackWhenItsHolderEnds) {
  Limits limits{kSmall};
  {
    const auto place = limits.enter(Load::kRecording, "a");
    EXPECT_TRUE(full(limits.enter(Load::kRecording, "a")));
    EXPECT_EQ(limits.under_way(Load::kRecording), 1U);
  }
  EXPECT_EQ(limits.under_way(Load::kRecording), 0U);
  EXPECT_FALSE(full(limits.enter(Load::kRecording, "a")));
}

TEST(Limits, APlaceMayOutliveTheLimits) {
  std::variant<Limits::Place, Limits::Full> place;
  {
    Limits limits{kSmall};
    place = limits.enter(Load::kStream, "a");
  }
  place = Limits::Place{};
}

TEST(Limits, LightRequestsAreNotCounted) {
  Limits limits{kSmall};
  std::vector<std::variant<Limits::Place, Limits::Full>> places;
  for (int i = 0; i < 100; ++i) places.push_back(limits.enter(Load::kLight, "a"));
  EXPECT_FALSE(full(places.back()));
}

}  // namespace
}  // namespace clrscope::http
