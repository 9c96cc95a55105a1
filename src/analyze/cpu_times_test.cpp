#include "analyze/cpu_times.h"

#include <gtest/gtest.h>

#include "analyze/report.h"
#include "analyze/test_trace.h"

namespace clrscope::analyze {
namespace {

constexpr std::uint64_t kSyscall = 0xffffffff81000100;

class CpuTimesTest : public testing::Test {
 protected:
  // App.Work() at 0x1000, libfoo.so's foo at 0x20000, libcoreclr.so without symbols at 0x30000,
  // the kernel's do_syscall_64.
  void names() {
    trace_.mapping({.time = 0}, 1, 0x20000, 0x21000, "/usr/lib/libfoo.so");
    trace_.symbol({.time = 900}, 1, 0x20000, 0x200ff, "foo");
    trace_.mapping({.time = 0}, 2, 0x30000, 0x31000, "/app/libcoreclr.so");
    trace_.mapping({.time = 0, .process = 0}, 3, 0xffffffff81000000, 0xffffffff82000000,
                   "[kernel.kallsyms]");
    trace_.symbol({.time = 900, .process = 0}, 3, 0xffffffff81000000, 0xffffffff81000fff,
                  "do_syscall_64");
    trace_.method(kRundownName, 144, {.time = 901}, 0x1000, 0x100, "App", "Work");
  }
  CpuTimes::Times of(std::string_view method, std::string_view module = "") {
    for (const auto id : times_.ranked(false)) {
      const auto& frame = times_.frames().frame(id);
      if (frame.method == method && (module.empty() || frame.module == module))
        return times_.by_frame()[static_cast<std::size_t>(id)];
    }
    return {};
  }
  TestTrace trace_;
  CpuTimes times_;
};

TEST_F(CpuTimesTest, NamesManagedNativeAndKernelFramesOfOneStack) {
  trace_.universal("cpu", {.time = 10}, 1, {kSyscall, 0x20010, 0x1010});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(times_.samples().count, 1U);
  EXPECT_EQ(of("do_syscall_64", "[kernel]").self.count, 1U);
  EXPECT_EQ(of("foo", "libfoo.so").total.count, 1U);
  EXPECT_EQ(of("foo", "libfoo.so").self.count, 0U);
  EXPECT_EQ(of("App.Work()").total.count, 1U);
}

TEST_F(CpuTimesTest, TakesCodeWithoutANameForAStubOnlyWhereAllMethodsAreKnown) {
  const auto write = [](TestTrace& trace) {
    trace.mapping({.time = 0}, 1, 0x1000, 0x2000, "/memfd:doublemapper (deleted)");
    trace.universal("cpu", {.time = 10}, 1, {0x1f10});
    trace.method(kRuntimeName, 143, {.time = 20}, 0x1000, 0x100, "App", "Work");
    trace.method(kRundownName, 143, {.time = 25}, 0x1200, 0x100, "App", "Early");
  };
  write(trace_);
  trace_.read_into(times_);
  EXPECT_EQ(of("[stub]").self.count, 0U);
  EXPECT_EQ(of("memfd:doublemapper!?").self.count, 1U);
  TestTrace told;
  write(told);
  told.method(kRundownName, 144, {.time = 30}, 0x1000, 0x100, "App", "Work");
  CpuTimes times;
  told.read_into(times);
  EXPECT_EQ(times.frames().frame(times.ranked(false).front()).method, "[stub]");
}

TEST_F(CpuTimesTest, MeasuresByTheSecondsThatAFlightRecorderKept) {
  TestTrace trace{2'000'000'000};
  trace.method(kRuntimeName, 143, {.time = 1000}, 0x1000, 0x100, "App", "Work");
  trace.universal("cpu", {.time = 2'500'000'000}, 1, {0x1010});
  trace.universal("cpu", {.time = 3'000'000'000}, 1, {0x1010});
  CpuTimes times;
  trace.read_into(times);
  EXPECT_EQ(times.samples().count, 2U);
  EXPECT_DOUBLE_EQ(times.seconds(), 1.0);
}

TEST_F(CpuTimesTest, KnowsTheKernelByWhatAnyProcessToldOfIt) {
  for (const int process : {100, 200}) {
    trace_.mapping({.time = 0, .process = process}, static_cast<std::uint64_t>(process),
                   0xffffffff81000000, 0xffffffff82000000, "[kernel.kallsyms]");
    trace_.universal("cpu", {.time = 1, .process = process}, 1, {kSyscall});
  }
  trace_.symbol({.time = 9, .process = 100}, 100, 0xffffffff81000000, 0xffffffff81000fff, "read");
  trace_.read_into(times_);
  EXPECT_EQ(of("read", "[kernel]").self.count, 2U);
}

TEST_F(CpuTimesTest, CallsTheFirstThreadLikeItsProcess) {
  trace_.event(kEventPipeName, 1, 1, {.time = 1},
               Payload{}.text("/bin/ls -l").text("Linux").text("x64"));
  trace_.universal("cpu", {.time = 2, .thread = 100}, 1, {0x1010});
  trace_.universal("cpu", {.time = 3, .thread = 101}, 1, {0x1010});
  trace_.read_into(times_);
  EXPECT_EQ(times_.threads()[0].name, times_.threads()[0].process_name);
  EXPECT_EQ(times_.threads()[1].name, "");
}

TEST_F(CpuTimesTest, CountsByKindOfTheLeaf) {
  trace_.universal("cpu", {.time = 10}, 1, {0x1010});
  trace_.universal("cpu", {.time = 11}, 1, {0x1010});
  trace_.universal("cpu", {.time = 12}, 1, {0x20010, 0x1010});
  trace_.universal("cpu", {.time = 13}, 1, {0x30010, 0x1010});
  trace_.universal("cpu", {.time = 14}, 1, {kSyscall, 0x1010});
  trace_.universal("cpu", {.time = 15}, 1, {0x77777777});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(times_.by_kind(FrameKind::kManaged).count, 2U);
  EXPECT_EQ(times_.by_kind(FrameKind::kNative).count, 1U);
  EXPECT_EQ(times_.by_kind(FrameKind::kRuntime).count, 1U);
  EXPECT_EQ(times_.by_kind(FrameKind::kKernel).count, 1U);
  EXPECT_EQ(times_.by_kind(FrameKind::kUnknown).count, 1U);
  EXPECT_EQ(times_.by_module().at("libcoreclr.so").self.count, 1U);
}

TEST_F(CpuTimesTest, TakesTheRuntimeOnACollectingThreadForTheCollector) {
  trace_.name_thread({.thread = 5}, ".NET Server GC");
  trace_.universal("cpu", {.time = 10, .thread = 5}, 1, {0x30010});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(times_.by_kind(FrameKind::kGc).count, 1U);
  ASSERT_EQ(times_.threads().size(), 1U);
  EXPECT_EQ(times_.threads()[0].name, ".NET Server GC");
}

TEST_F(CpuTimesTest, CountsRecursionOnce) {
  trace_.universal("cpu", {.time = 10}, 1, {0x1010, 0x1020, 0x1030});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(of("App.Work()").total.count, 1U);
  EXPECT_EQ(times_.by_module().at("").total.count, 1U);
}

TEST_F(CpuTimesTest, KeepsIdleProcessorsApart) {
  trace_.universal("cpu", {.time = 10, .thread = 0, .process = 0}, 1, {kSyscall});
  trace_.universal("cpu", {.time = 11}, 1, {0x1010});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(times_.samples().count, 1U);
  EXPECT_EQ(times_.idle(), 1U);
}

TEST_F(CpuTimesTest, ReportsSharesByThreadAndProcess) {
  trace_.event(kUniversalSystem, 0, 0, {.time = 1, .process = 200},
               Payload{}.varuint(200).text8("worker").text8(""));
  trace_.universal("cpu", {.time = 10, .thread = 1}, 1, {0x1010});
  trace_.universal("cpu", {.time = 11, .thread = 1}, 1, {0x1010});
  trace_.universal("cpu", {.time = 12, .thread = 2}, 1, {0x1010});
  trace_.universal("cpu", {.time = 13, .thread = 9, .process = 200}, 1, {});
  names();
  const auto report = find_report("cpu")->make({});
  trace_.read_into(*report);
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.end_object();
  EXPECT_NE(json.text().find(R"({"pid":100,"osId":1,"name":"","self":50)"), std::string::npos)
      << json.text();
  EXPECT_NE(json.text().find(R"({"pid":200,"name":"worker","self":25)"), std::string::npos)
      << json.text();
  EXPECT_NE(json.text().find(R"("samplesWithoutStack":1)"), std::string::npos) << json.text();
}

TEST_F(CpuTimesTest, FallsBackToTheRuntimesSampler) {
  trace_.sample({.time = 1}, {0x1010});
  names();
  const auto report = find_report("cpu")->make({});
  trace_.read_into(*report);
  JsonWriter json;
  json.begin_object();
  report->write_members(json);
  json.end_object();
  EXPECT_NE(json.text().find(R"("samples":1,)"), std::string::npos) << json.text();
  EXPECT_NE(json.text().find("App.Work()"), std::string::npos) << json.text();
}

// Two of three quarters of a millisecond are as much as one of one and a half.
TEST_F(CpuTimesTest, SharesAreOfTheTimeThatSamplesStandFor) {
  trace_.cpu_sample({.time = 10}, 750'000, {0x1010});
  trace_.cpu_sample({.time = 20}, 750'000, {0x1010});
  trace_.cpu_sample({.time = 30}, 1'500'000, {0x20010});
  names();
  for (const auto* report : {"cpu", "topn"}) {
    const auto made = find_report(report)->make({});
    trace_.read_into(*made);
    JsonWriter json;
    json.begin_object();
    made->write_members(json);
    json.end_object();
    EXPECT_NE(json.text().find(R"("self":50,"total":50)"), std::string::npos) << json.text();
    EXPECT_NE(json.text().find(R"("selfSamples":2,"totalSamples":2)"), std::string::npos);
  }
}

TEST_F(CpuTimesTest, SamplesOfOthersStandForTheTracesOwnPeriodAsOftenAsTheySay) {
  trace_.universal("cpu", {.time = 10}, 1, {0x1010});
  trace_.universal("cpu", {.time = 20}, 3, {0x20010});
  trace_.universal("cpu", {.time = 30}, 0, {0x30010});
  names();
  trace_.read_into(times_);
  EXPECT_EQ(of("foo").self.ns, 3 * of("App.Work()").self.ns);
  EXPECT_EQ(times_.samples().ns, 5 * of("App.Work()").self.ns);
}

TEST_F(CpuTimesTest, BelievesNoTimeThatCannotBe) {
  trace_.cpu_sample({.time = 10}, ~0ULL, {0x1010});
  trace_.cpu_sample({.time = 20}, 0, {0x1010});
  trace_.universal("cpu", {.time = 30}, ~0ULL, {0x1010});
  names();
  trace_.read_into(times_);
  EXPECT_LE(times_.samples().ns, 20'000'000'001U);
  EXPECT_EQ(times_.samples().count, 3U);
}

}  // namespace
}  // namespace clrscope::analyze
