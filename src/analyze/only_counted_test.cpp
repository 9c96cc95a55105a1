#include "analyze/only_counted.h"

#include <gtest/gtest.h>

#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

// Takes "thrown" as what is recorded.
class Watcher {
 public:
  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    for (const Event& event : batch.events) {
      if (event.type->name == "thrown") counted.on_recorded(event);
      if (counted.on_event(reader, event)) ++ends;
    }
  }
  void end_of_trace(const nettrace::Reader&) { counted.end_of_trace(); }

  OnlyCounted counted{"exceptions"};
  int ends = 0;
};

TEST(OnlyCounted, CountsWhatWasNotRecorded) {
  TestTrace trace;
  trace.universal("thrown", {.time = 1'000'000}, 1, {});
  trace.universal("exceptions_ended", {.time = 2'000'000}, 9'000, {});
  trace.universal("exceptions_counting", {.time = 3'000'000}, 0, {});
  trace.universal("exceptions_counted", {.time = 1'000'000'000}, 700, {});
  trace.universal("exceptions_counted", {.time = 2'000'000'000}, 300, {});
  Watcher watcher;
  trace.read_into(watcher);
  EXPECT_EQ(watcher.ends, 1);
  EXPECT_EQ(watcher.counted.count(), 1'000U);
  EXPECT_EQ(watcher.counted.recorded(), std::chrono::milliseconds{2});
  EXPECT_EQ(watcher.counted.counted_for(), std::chrono::seconds{2});
}

TEST(OnlyCounted, CountsNoneTwice) {
  TestTrace trace;
  trace.universal("exceptions_counting", {.time = 3'000'000}, 0, {});
  trace.universal("thrown", {.time = 4'000'000}, 1, {});
  trace.universal("thrown", {.time = 5'000'000}, 1, {});
  trace.universal("exceptions_ended", {.time = 6'000'000}, 9'000, {});
  trace.universal("exceptions_counted", {.time = 1'000'000'000}, 10, {});
  Watcher watcher;
  trace.read_into(watcher);
  EXPECT_EQ(watcher.counted.count(), 8U);
}

TEST(OnlyCounted, SaysNothingOfATraceWithoutMarks) {
  TestTrace trace;
  trace.universal("thrown", {.time = 1'000'000}, 1, {});
  trace.universal("lock_waits_counted", {.time = 2'000'000}, 5, {});
  Watcher watcher;
  trace.read_into(watcher);
  EXPECT_EQ(watcher.counted.count(), 0U);
  EXPECT_FALSE(watcher.counted.recorded());
  EXPECT_FALSE(watcher.counted.counted_for());
}

}  // namespace
}  // namespace clrscope::analyze
