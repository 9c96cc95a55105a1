#include "nettrace/v4_blocks.h"

#include <gtest/gtest.h>

#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

struct Seen {
  std::uint64_t damaged = 0, lost = 0;
  std::vector<std::string> events{};
};

Seen seen_in(std::string_view trace) {
  Reader reader;
  Seen seen;
  EXPECT_TRUE(read_all(reader, trace, [&](const Batch& batch) {
    for (const auto& event : batch.events)
      seen.events.push_back(fmt::format("{}/{} {} {}", event.type->provider, event.type->id,
                                        event.ticks, as_text(event.payload)));
  }));
  seen.damaged = reader.summary().damaged + (reader.summary().truncated ? 1 : 0);
  seen.lost = reader.summary().lost;
  return seen;
}

const EventType kName{.provider = "Names", .name = "", .id = 7, .version = 1};
const EventType kOther{.provider = "Names", .name = "", .id = 8, .version = 1};

Event event_of(const EventType& type, std::string_view payload) {
  Event event;
  event.type = &type;
  event.payload = as_bytes(payload);
  event.thread = ThreadId{42};
  return event;
}

std::string text(const std::vector<std::uint8_t>& bytes) { return std::string{as_text(bytes)}; }

// The trace before and the trace behind, whatever the place where it is cut.
TEST(V4Blocks, LieBetweenTheBlocksOfATraceAtAnyPlace) {
  for (std::size_t odd = 0; odd < 4; ++odd) {
    V4Builder builder;
    builder.declare(1).event(5, 1, 2000);
    builder.block("SPBlock", as_bytes(std::string(12 + odd, '\0')));
    const auto before = builder.open();
    builder.event(5, 2, 3000);
    const auto behind = builder.end().substr(before.size());

    V4Blocks ours;
    ours.add(event_of(kName, "one"));
    ours.add(event_of(kOther, "three"));
    auto whole = before + text(ours.take(before.size(), 2000));
    ours.add(event_of(kName, "seven"));
    whole += text(ours.take(whole.size(), 2500));
    EXPECT_EQ(whole.size() % 4, before.size() % 4);
    whole += behind;

    const auto seen = seen_in(whole);
    EXPECT_EQ(seen.damaged, 0U);
    EXPECT_EQ(seen.lost, 0U);
    EXPECT_EQ(seen.events,
              (std::vector<std::string>{"P/1 2000 ", "Names/7 2000 one", "Names/8 2000 three",
                                        "Names/7 2500 seven", "P/1 3000 "}));
    EXPECT_EQ(ours.events(), 3U);
  }
}

TEST(V4Blocks, AreManyWhenMuchWasAdded) {
  V4Builder builder;
  builder.declare(1).event(5, 1, 2000);
  V4Blocks ours;
  const std::string payload(1001, 'x');
  for (int i = 0; i < 500; ++i) ours.add(event_of(kName, payload));
  const auto seen = seen_in(builder.open() + text(ours.take(builder.size(), 2000)) + '\x01');
  EXPECT_EQ(seen.damaged, 0U);
  EXPECT_EQ(seen.lost, 0U);
  EXPECT_EQ(seen.events.size(), 501U);
}

TEST(V4Blocks, AreNothingWhenNothingWasAdded) {
  V4Blocks ours;
  EXPECT_TRUE(ours.empty());
  EXPECT_TRUE(ours.take(100, 1).empty());
}

}  // namespace
}  // namespace clrscope::nettrace
