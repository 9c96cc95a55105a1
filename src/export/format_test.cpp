#include "export/format.h"

#include <gtest/gtest.h>

#include "export/test_profile.h"

namespace clrscope::exports {
namespace {

using analyze::ThreadState;
using std::string;

TestProfile two_threads() {
  TestProfile made;
  const auto idle = made.thread(11);
  const auto busy = made.thread(12, "Worker");
  const auto work = made.stack({"Shop!Main()", "Shop!Work(int)"});
  made.sample(idle, 1, 1, made.stack({"Core!Wait()"}), ThreadState::kWaiting);
  made.sample(busy, 1, 1, work, ThreadState::kRunning);
  made.sample(busy, 2, 1.5, work, ThreadState::kRunning);
  made.profile.lost = 3;
  return made;
}

TEST(Formats, AreEachMadeInOneWay) {
  for (const auto* format : formats()) {
    EXPECT_EQ((format->write != nullptr) + (format->rewrite != nullptr) +
                  (format->rewrite_folder != nullptr),
              1)
        << format->name;
    EXPECT_TRUE(format->extension.starts_with('.')) << format->name;
    EXPECT_FALSE(format->summary.empty()) << format->name;
  }
}

TEST(Formats, AreFoundInAnyCase) {
  EXPECT_EQ(find_format("Speedscope"), find_format("speedscope"));
  EXPECT_NE(find_format("speedscope"), nullptr);
  EXPECT_EQ(find_format("pdf"), nullptr);
}

TEST(Collapsed, CountsEachStackOnce) {
  EXPECT_EQ(two_threads().write("collapsed"),
            "Main();Work(int);CPU_TIME 2\nWait();UNMANAGED_CODE_TIME 1\n");
}

TEST(Collapsed, CountsMicrosecondsWhereSamplesStandForDifferentTimes) {
  auto made = two_threads();
  made.profile.by_kernel = true;
  EXPECT_EQ(made.write("collapsed"),
            "Main();Work(int);CPU_TIME 2500\nWait();UNMANAGED_CODE_TIME 1000\n");
}

TEST(Collapsed, TakesSeparatorsOutOfNames) {
  TestProfile made;
  made.sample(made.thread(1), 1, 1, made.stack({"a;b\nc 5", "d"}));
  EXPECT_EQ(made.write("collapsed"), "a:b c 5;d 1\n");
}

TEST(Collapsed, ShowsASampleWithoutAStack) {
  TestProfile made;
  made.sample(made.thread(1), 1, 1, analyze::kNoStack);
  EXPECT_EQ(made.write("collapsed"), "? 1\n");
}

constexpr std::string_view kSpeedscope =
    R"~({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"clrscope","name":"Shop (7)","activeProfileIndex":1,"startTime":"2023-11-14T22:13:20.000Z","samples":3,"lost":3,"shared":{"frames":[
{"name":"Main()","file":"Shop"},
{"name":"Work(int)","file":"Shop"},
{"name":"Wait()","file":"Core"},
{"name":"CPU_TIME"},
{"name":"UNMANAGED_CODE_TIME"}]},"profiles":[
{"type":"evented","name":"Thread (11)","unit":"milliseconds","events":[
{"type":"O","frame":2,"at":1},
{"type":"O","frame":4,"at":1},
{"type":"C","frame":4,"at":2},
{"type":"C","frame":2,"at":2}],"startValue":1,"endValue":2},
{"type":"evented","name":"Thread (12) Worker","unit":"milliseconds","events":[
{"type":"O","frame":0,"at":1},
{"type":"O","frame":1,"at":1},
{"type":"O","frame":3,"at":1},
{"type":"C","frame":3,"at":3.500},
{"type":"C","frame":1,"at":3.500},
{"type":"C","frame":0,"at":3.500}],"startValue":1,"endValue":3.500}]}
)~";

TEST(Speedscope, WritesAProfilePerThreadAndOpensTheBusiest) {
  EXPECT_EQ(two_threads().write("speedscope"), kSpeedscope);
}

TEST(Speedscope, EscapesHostileNames) {
  TestProfile made;
  made.sample(made.thread(1, "\"\n"), 1, 1,
              made.stack({"a\"b\\c</script>\x01\xff", "List`1[<T>]\xc3\xa9"}));
  const string text = made.write("speedscope");
  EXPECT_NE(text.find(R"~({"name":"a\"b\\c\u003c/script>\u0001)~"), string::npos) << text;
  EXPECT_NE(text.find("\"List`1[\\u003cT>]\xc3\xa9\""), string::npos) << text;
  EXPECT_EQ(text.find('\xff'), string::npos);
  EXPECT_NE(text.find(R"~("name":"Thread (1) \"\n")~"), string::npos) << text;
}

constexpr std::string_view kChromium =
    R"~({"displayTimeUnit":"ms","otherData":{"exporter":"clrscope","name":"Shop (7)","startTime":"2023-11-14T22:13:20.000Z","samples":3,"lost":3},"traceEvents":[
{"ph":"M","name":"process_name","pid":7,"args":{"name":"Shop"}},
{"ph":"M","name":"thread_name","pid":7,"tid":11,"args":{"name":"Thread (11)"}},
{"ph":"B","name":"Wait()","cat":"Core","ts":1000,"pid":7,"tid":11},
{"ph":"B","name":"UNMANAGED_CODE_TIME","cat":"state","ts":1000,"pid":7,"tid":11},
{"ph":"E","name":"UNMANAGED_CODE_TIME","cat":"state","ts":2000,"pid":7,"tid":11},
{"ph":"E","name":"Wait()","cat":"Core","ts":2000,"pid":7,"tid":11},
{"ph":"M","name":"thread_name","pid":7,"tid":12,"args":{"name":"Worker"}},
{"ph":"B","name":"Main()","cat":"Shop","ts":1000,"pid":7,"tid":12},
{"ph":"B","name":"Work(int)","cat":"Shop","ts":1000,"pid":7,"tid":12},
{"ph":"B","name":"CPU_TIME","cat":"state","ts":1000,"pid":7,"tid":12},
{"ph":"E","name":"CPU_TIME","cat":"state","ts":3500,"pid":7,"tid":12},
{"ph":"E","name":"Work(int)","cat":"Shop","ts":3500,"pid":7,"tid":12},
{"ph":"E","name":"Main()","cat":"Shop","ts":3500,"pid":7,"tid":12}]}
)~";

TEST(Chromium, NamesThreadsAndNestsSlices) {
  EXPECT_EQ(two_threads().write("chromium"), kChromium);
}

TEST(Formats, SayTheLineWhereItIsKnown) {
  auto made = two_threads();
  auto& work = made.profile.frames[1];
  work.file = "/src/Shop/Work.cs";
  work.line = 22;
  EXPECT_NE(made.write("collapsed").find("Main();Work(int) Work.cs:22;CPU_TIME 2"), string::npos);
  EXPECT_NE(made.write("speedscope")
                .find(R"~({"name":"Work(int)","file":"/src/Shop/Work.cs","line":22})~"),
            string::npos);
  EXPECT_NE(made.write("chromium").find(R"~("args":{"file":"/src/Shop/Work.cs","line":22})~"),
            string::npos);
}

TEST(Formats, WriteAnEmptyProfile) {
  const TestProfile made;
  EXPECT_EQ(made.write("collapsed"), "");
  EXPECT_NE(made.write("speedscope").find("\"profiles\":[]"), string::npos);
  EXPECT_NE(made.write("chromium").find("\"traceEvents\":["), string::npos);
}

TEST(Formats, EndEarlyWhenTheirOutputFails) {
  for (const auto* format : formats()) {
    if (!format->write) continue;
    ByteSink out{-1};
    EXPECT_FALSE(format->write(two_threads().profile, out)) << format->name;
  }
}

}  // namespace
}  // namespace clrscope::exports
