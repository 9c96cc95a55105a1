#include "ops/ladder.h"

#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using collect::perf::Right;
using collect::perf::Rights;
using Works = Right::Works;

Rights root() {
  const Right yes{Works::kYes, "", ""};
  return {.machine_cpu = yes, .process_cpu = yes, .context_switches = yes, .tracepoints = yes};
}

Rights capable_without_tracefs() {
  auto rights = root();
  rights.tracepoints = {Works::kNo, "tracefs is not mounted", "mount it"};
  rights.context_switches = {Works::kPartly, "when, not where", "mount it"};
  return rights;
}

Rights user() {
  auto rights = capable_without_tracefs();
  rights.machine_cpu = {Works::kNo, "paranoid is 2", "be root"};
  rights.process_cpu = {Works::kPartly, "user code only", "CAP_PERFMON"};
  return rights;
}

Rights filtered() {
  const Right no{Works::kNo, "a seccomp filter refuses it", "allow it"};
  return {.machine_cpu = no,
          .process_cpu = no,
          .context_switches = no,
          .tracepoints = no,
          .filtered = true};
}

TEST(Ladder, RootHasEverythingAndIsToldNothing) {
  for (const auto wanted : {Wanted::kMachine, Wanted::kProcess}) {
    const auto rung = choose_rung(root(), wanted, KernelData::kThreadTime);
    EXPECT_EQ(rung.waits, WaitRung::kStacks);
    EXPECT_TRUE(rung.kernel_frames);
    EXPECT_TRUE(rung.missing.empty());
  }
}

TEST(Ladder, WithoutTracefsWaitsStepDownToTimes) {
  const auto rung =
      choose_rung(capable_without_tracefs(), Wanted::kMachine, KernelData::kThreadTime);
  EXPECT_EQ(rung.cpu, CpuRung::kMachine);
  EXPECT_EQ(rung.waits, WaitRung::kTimes);
  ASSERT_EQ(rung.missing.size(), 1U);
  EXPECT_EQ(rung.missing[0].hint, "mount it");
}

TEST(Ladder, SaysNothingOfWaitsThatNobodyAskedFor) {
  const auto rung =
      choose_rung(capable_without_tracefs(), Wanted::kMachine, KernelData::kCpuSamples);
  EXPECT_EQ(rung.waits, WaitRung::kNone);
  EXPECT_TRUE(rung.missing.empty());
}

TEST(Ladder, AUserRecordsItsOwnProcesses) {
  const auto machine = choose_rung(user(), Wanted::kMachine, KernelData::kCpuSamples);
  EXPECT_EQ(machine.cpu, CpuRung::kProcess);
  EXPECT_FALSE(machine.kernel_frames);
  ASSERT_EQ(machine.missing.size(), 1U);
  EXPECT_NE(machine.missing[0].what.find("paranoid is 2"), std::string::npos);
  const auto process = choose_rung(user(), Wanted::kProcess, KernelData::kThreadTime);
  EXPECT_EQ(process.cpu, CpuRung::kProcess);
  EXPECT_EQ(process.waits, WaitRung::kTimes);
  EXPECT_EQ(process.missing.size(), 2U);
}

TEST(Ladder, WhereSeccompRefusesPerfTheRuntimeSamples) {
  for (const auto wanted : {Wanted::kMachine, Wanted::kProcess}) {
    const auto rung = choose_rung(filtered(), wanted, KernelData::kThreadTime);
    EXPECT_EQ(rung.cpu, CpuRung::kRuntime);
    EXPECT_EQ(rung.waits, WaitRung::kNone);
    ASSERT_EQ(rung.missing.size(), 1U);
    EXPECT_EQ(rung.missing[0].hint, "allow it");
  }
}

TEST(Ladder, WhereSeccompRefusesPerfTheAgentSamplesAProcess) {
  const auto rung =
      choose_rung(filtered(), Wanted::kProcess, KernelData::kThreadTime, {.works = true});
  EXPECT_EQ(rung.cpu, CpuRung::kAgent);
  EXPECT_EQ(rung.waits, WaitRung::kNone);
  EXPECT_FALSE(rung.kernel_frames);
  ASSERT_EQ(rung.missing.size(), 1U);
  EXPECT_NE(rung.missing[0].what.find("the agent samples"), std::string::npos);
  EXPECT_EQ(choose_rung(root(), Wanted::kProcess, KernelData::kCpuSamples, {.works = true}).cpu,
            CpuRung::kProcess)
      << "perf is better";
}

}  // namespace
}  // namespace clrscope::ops
