// Each report on one small trace that has something for all of them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "analyze/report.h"
#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t kInstance = 0;
constexpr std::uint64_t kMillisecond = 1'000'000;

std::int64_t at_ms(std::int64_t ms) { return ms * static_cast<std::int64_t>(kMillisecond); }

void add_collections(TestTrace& trace) {
  trace.event(kRuntimeName, 9, 1, {at_ms(10)}, Payload{}.add(1U).add(0U).add(kInstance));
  trace.event(kRuntimeName, 1, 2, {at_ms(11)},
              Payload{}.add(1U).add(2U).add(4U).add(0U).add(kInstance).add(std::uint64_t{0}));
  trace.event(kRuntimeName, 2, 1, {at_ms(17)}, Payload{}.add(1U).add(2U).add(kInstance));
  Payload heap;
  for (std::uint64_t i = 0; i < 10; ++i) heap.add(i % 2 == 0 ? i * 100 : std::uint64_t{0});
  for (std::uint32_t i = 0; i < 3; ++i) heap.add(i);
  heap.add(kInstance).add(std::uint64_t{500}).add(std::uint64_t{0});
  trace.event(kRuntimeName, 4, 2, {at_ms(17)}, heap);
  trace.event(kRuntimeName, 3, 1, {at_ms(18)}, Payload{}.add(kInstance));
  trace.event(kRuntimeName, 39, 0, {at_ms(18)},
              Payload{}.text("CommittedUsage").add(2U).add(std::uint16_t{0}).add(kInstance));
}

void add_exceptions(TestTrace& trace) {
  for (std::int64_t i = 0; i < 3; ++i)
    trace.event(kRuntimeName, 80, 1, {at_ms(20 + i)},
                Payload{}
                    .text("Shop.NoStock")
                    .text("none left")
                    .add(std::uint64_t{0x1010})
                    .add(0x80131500U)
                    .add(std::uint16_t{static_cast<std::uint16_t>(i == 2 ? 4 : 0)})
                    .add(kInstance),
                {0x3010, 0x1010});
}

void add_contention(TestTrace& trace) {
  const auto start = Payload{}
                         .add(std::uint8_t{0})
                         .add(kInstance)
                         .add(std::uint64_t{0xabc})
                         .add(std::uint64_t{0xdef})
                         .add(std::uint64_t{77});
  trace.event(kRuntimeName, 81, 2, {at_ms(30)}, start, {0x3020, 0x1020});
  trace.event(kRuntimeName, 91, 1, {at_ms(34)},
              Payload{}.add(std::uint8_t{0}).add(kInstance).add(4e6));
  trace.event(kRuntimeName, 81, 2, {at_ms(95), 2}, start, {0x3020, 0x1020});  // never ends
}

void add_allocations(TestTrace& trace) {
  trace.event(kRuntimeName, 10, 4, {at_ms(40)},
              Payload{}
                  .add(100'000U)
                  .add(0U)
                  .add(kInstance)
                  .add(std::uint64_t{100'000})
                  .add(std::uint64_t{0x55})
                  .text("System.Byte[]")
                  .add(0U)
                  .add(std::uint64_t{0x99})
                  .add(std::uint64_t{1000}),
              {0x3030, 0x1030});
}

void add_compiling(TestTrace& trace) {
  trace.event(kRuntimeName, 145, 1, {at_ms(50)},
              Payload{}
                  .add(std::uint64_t{0x5001})
                  .add(std::uint64_t{7})
                  .add(0U)
                  .add(44U)
                  .text("Shop.Cart")
                  .text("Jitted")
                  .text("void  ()")
                  .add(kInstance));
  trace.method(kRuntimeName, 143, {at_ms(53)}, 0x5000, 0x80, "Shop.Cart", "Jitted", 8 | 3 << 7);
}

void add_pool(TestTrace& trace) {
  trace.event(kRuntimeName, 50, 0, {at_ms(60)}, Payload{}.add(3U).add(0U).add(kInstance));
  trace.event(kRuntimeName, 55, 0, {at_ms(61)}, Payload{}.add(1.5).add(5U).add(6U).add(kInstance));
  trace.event(kRuntimeName, 59, 0, {at_ms(62)},
              Payload{}
                  .add(std::uint16_t{2})
                  .add(std::uint16_t{64})
                  .add(std::uint16_t{1})
                  .add(std::uint16_t{9})
                  .add(kInstance));
  trace.event(kRuntimeName, 61, 0, {at_ms(63)}, Payload{}.add(std::uint64_t{0x77}).add(kInstance));
  trace.event(kRuntimeName, 62, 0, {at_ms(66), 2},
              Payload{}.add(std::uint64_t{0x77}).add(kInstance));
}

constexpr std::string_view kTasksName = "System.Threading.Tasks.TplEventSource";
const std::vector<std::uint64_t> kStarter{0x1040};

Payload of_task(std::int32_t task) { return std::move(Payload{}.add(1).add(0).add(task)); }

void add_task(TestTrace& trace, std::int32_t task, std::vector<std::int64_t> times,
              std::int32_t failed = 0) {
  const auto schedule = of_task(task).add(0).add(0).add(1);
  // The end is read before the beginning, as happens with the threads of a trace.
  if (times.size() > 2)
    trace.event(kTasksName, 15, 1, {at_ms(times[2]), 2}, Payload{}.add(task).add(failed ? 3 : 1));
  if (times.size() > 1) trace.event(kTasksName, 8, 0, {at_ms(times[1]), 2}, of_task(task));
  trace.event(kTasksName, 7, 1, {at_ms(times[0])}, schedule, kStarter);
}

void begin_wait(TestTrace& trace, TestTrace::At at, std::int32_t task, std::int32_t behavior) {
  trace.event(kTasksName, 10, 3, at, of_task(task).add(behavior).add(0), kStarter);
}

void add_tasks(TestTrace& trace) {
  add_task(trace, 1, {70, 73, 78});
  add_task(trace, 2, {70, 71, 72}, 1);
  add_task(trace, 3, {70, 75});  // runs when the trace ends, at 99 ms
  add_task(trace, 4, {80});      // has not started
  const auto begin = Payload{}.add(5).text("Async: <Pay>d__3").add(std::int64_t{0});
  trace.event(kTasksName, 14, 1, {at_ms(81)}, begin, kStarter);
  trace.event(kTasksName, 15, 1, {at_ms(90), 2}, Payload{}.add(5).add(1));
  const auto unstarted = Payload{}.add(7).text("Task: <Pay>b__0").add(std::int64_t{0});
  trace.event(kTasksName, 14, 1, {at_ms(70)}, unstarted, kStarter);
  add_task(trace, 7, {70});
  trace.event(kTasksName, 15, 1, {at_ms(72), 2}, Payload{}.add(7).add(2));
  begin_wait(trace, {at_ms(82)}, 6, 2);  // two await one task
  begin_wait(trace, {at_ms(83), 3}, 6, 2);
  trace.event(kTasksName, 11, 0, {at_ms(86), 2}, of_task(6));
  trace.event(kTasksName, 11, 0, {at_ms(87), 2}, of_task(6));
  begin_wait(trace, {at_ms(85)}, 4, 2);  // never comes
  begin_wait(trace, {at_ms(84), 4}, 3, 1);
  trace.event(kTasksName, 11, 0, {at_ms(88), 4}, of_task(3));
}

void add_names(TestTrace& trace) {
  trace.method(kRundownName, 144, {at_ms(100)}, 0x1000, 0x100, "Shop.Cart", "Add");
  trace.method(kRundownName, 144, {at_ms(100)}, 0x3000, 0x100, "System.Helper", "Throw", 0);
  trace.event(kRundownName, 154, 1, {at_ms(100)},
              Payload{}
                  .add(std::uint64_t{7})
                  .add(std::uint64_t{8})
                  .add(0U)
                  .add(0U)
                  .text("/app/Shop.dll")
                  .text("")
                  .add(kInstance));
  Payload runtime;
  for (const int number : {0, 2, 10, 0, 12, 0}) runtime.add(static_cast<std::uint16_t>(number));
  trace.event(kRundownName, 187, 0, {at_ms(100)}, runtime);
  trace.event(kEventPipeName, 1, 1, {at_ms(99)},
              Payload{}.text("dotnet /app/Shop.dll --port 80").text("Linux").text("x64"));
  trace.mapping({at_ms(1)}, 1, 0x9000, 0x9fff, "/lib/libc.so.6");
  trace.symbol({at_ms(1)}, 1, 0x9100, 0x91ff, "malloc");
}

void add_everything(TestTrace& trace) {
  trace.sample({at_ms(5)}, {0x3010, 0x1010}, 2);
  trace.sample({at_ms(6)}, {0x3010, 0x1010}, 1);
  trace.universal("cpu", {at_ms(7)}, 1, {0x9110, 0x1010});
  add_collections(trace);
  add_exceptions(trace);
  add_contention(trace);
  add_allocations(trace);
  add_compiling(trace);
  add_pool(trace);
  add_tasks(trace);
  add_names(trace);
}

std::string json_of(std::string_view name, int times = 1) {
  const auto report = find_report(name)->make({});
  for (int i = 0; i < times; ++i) {
    TestTrace trace;
    add_everything(trace);
    trace.read_into(*report);
  }
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.end_object();
  return json.text();
}

TEST(Reports, CountEventsByKind) {
  const auto json = json_of("events");
  EXPECT_THAT(json, HasSubstr(R"j("name":"Exception/Start","count":3)j"));
  EXPECT_THAT(json, HasSubstr(R"j("name":"GC/CommittedUsage","count":1)j"));
  EXPECT_THAT(json_of("events", 2), HasSubstr(R"j("name":"Exception/Start","count":6)j"));
}

TEST(Reports, CountTheSamplersSamplesWhereThereAreBothKinds) {
  const auto json = json_of("topn");
  EXPECT_THAT(json, HasSubstr(R"j({"samples":2,"running":1,"waiting":1,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("method":"Shop.Cart.Add()","module":"Shop","kind":"managed",)j"
                              R"j("self":0,"total":100)j"));
}

TEST(Reports, NameNativeMethods) {
  const auto report = find_report("topn")->make({});
  TestTrace trace;
  trace.universal("cpu", {at_ms(7)}, 1, {0x9110, 0x1010});
  add_names(trace);
  trace.read_into(*report);
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  EXPECT_THAT(json.text(),
              HasSubstr(R"j("method":"malloc","module":"libc.so.6","kind":"native")j"));
}

TEST(Reports, TellOfCollections) {
  const auto json = json_of("gc");
  EXPECT_THAT(json,
              HasSubstr(R"j("number":1,"generation":2,"reason":"AllocLarge",)j"
                        R"j("type":"NonConcurrentGC","startMs":11,"pauseMs":8,"longestPauseMs":8,)j"
                        R"j("restartMs":0,"durationMs":6)j"));
  EXPECT_THAT(json, HasSubstr(R"j("gen1Bytes":200,"gen2Bytes":400,"lohBytes":600,"pohBytes":500,)j"
                              R"j("totalBytes":1700)j"));
  EXPECT_THAT(json, HasSubstr(R"j("totalPauseMs":8)j"));
}

TEST(Reports, FindWhereExceptionsAreThrown) {
  const auto json = json_of("exceptions", 2);
  EXPECT_THAT(json, HasSubstr(R"j({"exceptions":6,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("type":"Shop.NoStock","count":6,"rethrown":2)j"));
  EXPECT_THAT(json, HasSubstr(R"j("sites":[{"method":"System.Helper.Throw()","module":"Shop",)j"));
  // The same number in two traces is two processes.
  EXPECT_THAT(json, HasSubstr(R"j("byProcess":[{"pid":100,"name":"Shop","count":3},)j"
                              R"j({"pid":100,"name":"Shop","count":3}])j"));
}

TEST(Reports, CountWaitsForLocksAlsoThoseThatDoNotEnd) {
  const auto json = json_of("contention");
  EXPECT_THAT(
      json,
      HasSubstr(R"j({"contentions":2,"onlyCounted":0,"unfinished":1,"totalMs":8,"longestMs":4,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("owners":[{"osId":77,"count":2}])j"));
}

TEST(Reports, ExtrapolateAllocations) {
  const auto json = json_of("allocations");
  EXPECT_THAT(json, HasSubstr(R"j({"source":"AllocationTick","samples":1,"bytes":100000,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("type":"System.Byte[]","bytes":100000,"objects":100,)j"));
}

TEST(Reports, TimeTheCompiler) {
  EXPECT_THAT(json_of("jit"),
              HasSubstr(R"j("method":"Shop.Cart.Jitted()","module":"Shop","tier":"QuickJitted",)j"
                        R"j("ilBytes":44,"nativeBytes":128,"startMs":50,"jitMs":3)j"));
}

TEST(Reports, FollowThePool) {
  const auto json = json_of("threadpool");
  EXPECT_THAT(json, HasSubstr(R"j({"mostWorkers":5,"lastWorkers":5,"starvations":1,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("queue":{"enqueued":1,"dequeued":1,"waitedMs":3,)j"));
  EXPECT_THAT(json, HasSubstr(R"j("adjustments":[{"atMs":61,"threads":5,"reason":"Starvation")j"));
}

TEST(Reports, FollowTasksFromTheirStartToTheirEnd) {
  const auto json = json_of("tasks");
  // Waited 3 + 1 + 5 + 2 ms and 19 ms so far; ran 5 + 1 ms and 24 ms so far.
  EXPECT_THAT(json,
              HasSubstr(R"j({"count":5,"failed":1,"cancelled":1,"neverStarted":1,"unfinished":1,)j"
                        R"j("waitedMs":30,"longestWaitMs":19,"ranMs":30,"longestRunMs":24,)j"));
  EXPECT_THAT(
      json, HasSubstr(R"j("operations":[{"name":"Async: \u003cPay>d__3",)j"
                      R"j("method":"Shop.Cart.Add()","module":"Shop","kind":"managed","count":1,)j"
                      R"j("unfinished":0,"totalMs":9,"longestMs":9,"failed":0,"cancelled":0}])j"));
  EXPECT_THAT(json,
              HasSubstr(R"j("count":3,"unfinished":1,"totalMs":22,"longestMs":14,"pending":[)j"
                        R"j({"what":"task started in Shop.Cart.Add()","count":1}])j"));
  EXPECT_THAT(json, HasSubstr(R"j("count":1,"unfinished":0,"totalMs":4,"longestMs":4}],)j"
                              R"j("byProcess":[{"pid":100,"name":"Shop","count":6}])j"));
}

TEST(Reports, TakeTheEndOfTasksFromTheirOwnEventsWhereOperationsAreNotRecorded) {
  const auto report = find_report("tasks")->make({});
  TestTrace trace;
  trace.event(kTasksName, 7, 1, {at_ms(1)}, of_task(1).add(0).add(0).add(1), kStarter);
  trace.event(kTasksName, 8, 0, {at_ms(2), 2}, of_task(1));
  trace.event(kTasksName, 9, 1, {at_ms(5), 2}, of_task(1).add(1));
  trace.read_into(*report);
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  EXPECT_THAT(json.text(),
              HasSubstr(R"j("count":1,"failed":1,"cancelled":0,"neverStarted":0,)j"
                        R"j("unfinished":0,"waitedMs":1,"longestWaitMs":1,"ranMs":3)j"));
}

TEST(Reports, IntroduceTheProcesses) {
  EXPECT_THAT(
      json_of("processes"),
      HasSubstr(R"j("pid":100,"name":"Shop","commandLine":"dotnet /app/Shop.dll --port 80",)j"
                R"j("runtime":"10.0.12","architecture":"x64")j"));
}

TEST(Reports, SumUpInTheOverview) {
  const auto json = json_of("overview");
  EXPECT_THAT(
      json,
      HasSubstr(R"j("samples":2,"cpuSamples":1,"waits":0,"collections":1,"totalPauseMs":8)j"));
  EXPECT_THAT(json, HasSubstr(R"j("processes":["Shop (100)"],"runtimes":["10.0.12"])j"));
  EXPECT_THAT(json, HasSubstr(R"j("contentions":2,)j"));  // as the report of them has it
}

TEST(Reports, SayWhenThereIsNothing) {
  for (const auto* kind : report_kinds()) {
    const auto report = kind->make({});
    TestTrace trace;
    trace.read_into(*report);
    EXPECT_FALSE(report->page().summary.empty()) << kind->name;
  }
}

TEST(Reports, AreFoundByName) {
  EXPECT_EQ(find_report("topn")->name, "topn");
  EXPECT_EQ(find_report("nonsense"), nullptr);
}

// CLRSCOPE_WRITE_TRACE=FILE keeps the trace: the corpus of report_fuzz is made so.
TEST(Reports, CanHaveTheirTraceKept) {
  TestTrace trace;
  add_everything(trace);
  EXPECT_GT(trace.bytes().size(), 1000U);
  if (const auto* path = std::getenv("CLRSCOPE_WRITE_TRACE"))
    std::ofstream{path, std::ios::binary} << trace.bytes();
}

// Other shapes of the same name would overwrite each other in a schema.
TEST(Reports, PublishShapesOfDifferentNames) {
  std::map<std::string_view, const Shape*> all;
  for (const auto* kind : report_kinds()) {
    std::map<std::string_view, const Shape*> own;
    gather_shapes(kind->shape(), own);
    for (const auto& [name, shape] : own)
      EXPECT_EQ(all.try_emplace(name, shape).first->second, shape) << name;
  }
  EXPECT_GT(all.size(), report_kinds().size());
}

TEST(Reports, AnswerWithTheMembersOfTheirShapes) {
  for (const auto* kind : report_kinds()) {
    const auto json = json_of(kind->name);
    for (const auto* member : written_members(kind->shape())) {
      EXPECT_FALSE(member->meaning.empty()) << kind->name << " " << member->name;
      if (!member->value->optional) {
        EXPECT_THAT(json, HasSubstr(fmt::format("\"{}\":", member->name))) << kind->name;
      }
    }
  }
}

}  // namespace
}  // namespace clrscope::analyze
