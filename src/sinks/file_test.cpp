#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "nettrace/event_json.h"
#include "nettrace/reader.h"
#include "sinks/rotation.h"
#include "sinks/test_events.h"

namespace clrscope::sinks {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct ReadBack {
  nettrace::Summary summary{};
  std::vector<std::string> lines{};  // "7 Shop Sold {…} 2 frames"
};

ReadBack read_back(const std::string& path) {
  const auto bytes = read_file(path);
  CHECK(bytes);
  nettrace::Reader reader;
  nettrace::PayloadPlans plans{8};
  nettrace::EventJson json;
  ReadBack back;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) {
      std::string line;
      json.append(line, event, plans.of(event), {});
      back.lines.push_back(line + std::to_string(reader.stack(event.stack).size()));
    }
  };
  EXPECT_TRUE(reader.feed(as_bytes(*bytes), on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  back.summary = reader.summary();
  return back;
}

TEST(FileSink, KeepsWhatWasRecordedBefore) {
  const TestFolder folder;
  const auto path = folder / "all.nettrace";
  const TestProcess one{7, 1};
  for (const std::uint32_t events : {10, 20}) {
    const auto sink = make_sink("file:" + path);
    ASSERT_TRUE(sink->open());
    ASSERT_TRUE(sink->on_batch(one.batch(0, events, TraceClock::now())));
    ASSERT_TRUE(sink->close({.events = events}));
  }
  EXPECT_EQ(read_back(folder / "all.1.nettrace").summary.events, 10U);
  EXPECT_EQ(read_back(path).summary.events, 20U);
}

TEST(FileSink, HoldsTheEventsOfAllProcessesWithTheirLosses) {
  const TestFolder folder;
  const auto path = folder / "all.nettrace";
  const TestProcess one{7, 1}, two{8, 2};
  const auto sink = make_sink("file:" + path);
  ASSERT_TRUE(sink->open());
  ASSERT_TRUE(sink->on_source(one.info(), hub::SourceChange::kCame));
  const auto now = TraceClock::now();
  ASSERT_TRUE(sink->on_batch(one.batch(0, 100, now)));
  ASSERT_TRUE(sink->on_dropped(5));
  ASSERT_TRUE(sink->on_batch(two.batch(0, 50, now)));
  ASSERT_TRUE(sink->on_source(one.info(), hub::SourceChange::kGone));
  ASSERT_TRUE(sink->on_batch(two.batch(50, 10, TraceClock::now())));
  ASSERT_TRUE(sink->close({.events = 160, .dropped = 6, .lost = 3}));

  const auto back = read_back(path);
  EXPECT_EQ(back.summary.events, 161U);  // and the process that came
  EXPECT_EQ(back.summary.lost, 9U);
  EXPECT_TRUE(back.summary.ended);
  EXPECT_EQ(back.summary.damaged, 0U);
  EXPECT_THAT(back.lines, Contains(HasSubstr(R"("name":"Sold","id":7,"pid":8,"osId":11,)"
                                             R"("payload":{"n":59,"what":"aé"}})")));
  EXPECT_THAT(back.lines, Contains(testing::EndsWith("\n2")));
  EXPECT_THAT(back.lines, Contains(HasSubstr(R"("name":"ExistingProcess")")));
}

TEST(FileSink, HoldsCountersAsEvents) {
  const TestFolder folder;
  const auto path = folder / "c.nettrace";
  const auto sink = make_sink("file:" + path);
  ASSERT_TRUE(sink->open());
  const std::vector values{test_value()};
  ASSERT_TRUE(sink->on_counters(values));
  ASSERT_TRUE(sink->close({}));
  const auto back = read_back(path);
  ASSERT_EQ(back.lines.size(), 1U);
  EXPECT_THAT(back.lines[0], HasSubstr(R"("provider":"Clrscope.Counters","name":"Value")"));
  EXPECT_THAT(back.lines[0], HasSubstr(R"("pid":7)"));
  EXPECT_THAT(back.lines[0], HasSubstr(R"("Tags":"route=/a,status=200","Kind":"gauge",)"
                                       R"("Value":12.5)"));
  EXPECT_THAT(back.lines[0], HasSubstr(R"("Quantiles":"0.5=12.5,0.95=40")"));
}

TEST(FileSink, CanBeReadWhileItIsWritten) {
  const TestFolder folder;
  const auto path = folder / "live.nettrace";
  const TestProcess one{7};
  const auto sink = make_sink("file:" + path);
  ASSERT_TRUE(sink->open());
  EXPECT_TRUE(read_back(path).summary.ended);
  ASSERT_TRUE(
      sink->on_batch(one.batch(0, 100, TraceClock::now() - std::chrono::milliseconds{1500})));
  ASSERT_TRUE(sink->on_tick());
  const auto back = read_back(path);
  EXPECT_EQ(back.summary.events, 100U);
  EXPECT_TRUE(back.summary.ended);
}

TEST(FileSink, PutsAFullFileAside) {
  const TestFolder folder;
  const auto path = folder / "r.nettrace";
  const TestProcess one{7};
  const auto sink = make_sink("file:" + path + ",max-size=1000");
  ASSERT_TRUE(sink->open());
  ASSERT_TRUE(sink->on_source(one.info(), hub::SourceChange::kCame));
  ASSERT_TRUE(
      sink->on_batch(one.batch(0, 100, TraceClock::now() - std::chrono::milliseconds{1500})));
  ASSERT_TRUE(sink->on_tick());
  ASSERT_TRUE(sink->on_batch(one.batch(100, 10, TraceClock::now())));
  ASSERT_TRUE(sink->close({}));
  const auto first = read_back(name_when_aside(path));
  const auto second = read_back(path);
  EXPECT_TRUE(first.summary.ended && second.summary.ended);
  EXPECT_EQ(first.summary.events + second.summary.events, 112U);  // each tells of the process
  EXPECT_EQ(first.summary.lost + second.summary.lost, 0U);
}

TEST(FileSink, SaysThatItsFileCannotBeWritten) {
  const TestFolder folder;
  ASSERT_EQ(::mkdir((folder / "at").c_str(), 0700), 0);
  const auto sink = make_sink("file:" + (folder / "at/all.nettrace"));
  ASSERT_EQ(::rmdir((folder / "at").c_str()), 0);  // after it had a look
  const auto opened = sink->open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("at/all.nettrace"));
  EXPECT_FALSE(parse_sink("file:a.nettrace,max-size=big")
                   ->kind->make(*parse_sink("file:a.nettrace,max-size=big"), {}));
}

TEST(NameWhenAside, KeepsTheExtension) {
  EXPECT_EQ(name_when_aside("/a.b/shop.nettrace.zst"), "/a.b/shop.1.nettrace.zst");
  EXPECT_EQ(name_when_aside("v1.2.nettrace"), "v1.2.1.nettrace");
  EXPECT_EQ(name_when_aside("log"), "log.1");
  EXPECT_EQ(name_when_aside("/x/.ndjson"), "/x/.ndjson.1");
}

}  // namespace
}  // namespace clrscope::sinks
