#include "cli/counter_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/table.h"
#include "base/text.h"

namespace clrscope::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

ops::CounterValue value(std::string name, std::string generation = {}) {
  ops::CounterValue one{.pid = 7, .process = "shop", .provider = "System.Runtime", .name = name};
  one.display = std::move(name);
  if (!generation.empty()) one.tags = {{"gc.heap.generation", std::move(generation)}};
  one.value = 17;
  return one;
}

TEST(CounterBoard, ShowsQuantilesOfHistogramsWithBuckets) {
  auto pause = value("dotnet.gc.pause.duration");
  pause.kind = ops::CounterKind::kHistogram;
  pause.buckets = {{.upper = 1, .count = 10}, {.upper = 2, .count = 10}};
  CounterBoard board;
  board.add(std::vector{pause});
  const auto text = board.text(100, 30);
  EXPECT_THAT(text, HasSubstr("dotnet.gc.pause.duration p50"));
  EXPECT_THAT(text, HasSubstr("dotnet.gc.pause.duration p99"));
}

TEST(CounterBoard, KeepsTagsApartAlsoWhereTheyDoNotFit) {
  CounterBoard board;
  for (const auto* generation : {"gen0", "gen1"}) {
    board.add(std::vector{value("dotnet.gc.last_collection.heap.size", generation)});
    board.add(std::vector{value("dotnet.gc.last_collection.heap.fragmentation.size", generation)});
  }
  for (const std::size_t width : {80, 100, 120}) {
    const auto text = board.text(width, 30);
    const auto lines = split(text, '\n');
    for (std::size_t i = 0; i < lines.size(); ++i) {
      EXPECT_LE(display_width(lines[i]), width);
      for (std::size_t k = 0; k < i; ++k)
        EXPECT_TRUE(lines[i].empty() || lines[i] != lines[k]) << lines[i];
    }
  }
}

TEST(CounterBoard, LetsNoNameMoveTheCursor) {
  CounterBoard board;
  board.add(std::vector{value("two\nlines", "\x1b[2Jgone")});
  EXPECT_THAT(board.text(100, 30),
              HasSubstr("two\\u000alines [gc.heap.generation=\\u001b[2Jgone]"));
}

TEST(CounterBoard, ForgetsAProcessThatEnded) {
  CounterBoard board;
  board.add(std::vector{value("gauge")});
  auto other = value("gauge");
  other.pid = 8;
  board.add(std::vector{other});
  board.forget(7, "shop");
  EXPECT_THAT(board.text(100, 30), Not(HasSubstr("shop (7)")));
  EXPECT_THAT(board.text(100, 30), HasSubstr("shop (8)"));
}

}  // namespace
}  // namespace clrscope::cli
