#include "collect/eventpipe/event_filter.h"

#include <gtest/gtest.h>

namespace clrscope::collect {
namespace {

EventType type(std::uint32_t index, std::string provider, std::uint32_t id) {
  return {.index = index, .provider = std::move(provider), .name = {}, .id = id};
}

TEST(EventFilter, LeavesOutOtherEventsOfItsProvidersOnly) {
  EventFilter filter{{{.name = "Shop", .event_ids = {1, 5}}, {.name = "All"}}};
  EXPECT_FALSE(filter.empty());
  EXPECT_TRUE(filter.keeps(type(0, "Shop", 1)));
  EXPECT_FALSE(filter.keeps(type(1, "Shop", 2)));
  EXPECT_FALSE(filter.keeps(type(1, "Shop", 2)));
  EXPECT_FALSE(filter.keeps(type(2, "SHOP", 2)));
  EXPECT_TRUE(filter.keeps(type(3, "All", 2)));
  EXPECT_TRUE(filter.keeps(type(9, "Other", 2)));
}

TEST(EventFilter, IsEmptyWithoutIds) {
  EXPECT_TRUE(EventFilter{{{.name = "All"}}}.empty());
  EXPECT_TRUE(EventFilter{}.keeps(type(0, "Shop", 1)));
}

}  // namespace
}  // namespace clrscope::collect
