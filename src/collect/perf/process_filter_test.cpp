#include "collect/perf/process_filter.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace clrscope::collect::perf {
namespace {

// Numbers that no process has: above the kernel's highest.
constexpr ProcessId kWanted{5'000'001};
constexpr ProcessId kStranger{5'000'002};
constexpr ProcessId kChild{5'000'003};

Record sample_of(ProcessId process) { return Sample{.origin = {.process = process}}; }

Record fork_of(ProcessId parent, ProcessId child) {
  return Task{.kind = Task::Kind::kFork, .process = child, .parent_process = parent};
}

Record exit_of(ProcessId process) {
  return Task{.kind = Task::Kind::kExit,
              .process = process,
              .thread = ThreadId{static_cast<std::uint64_t>(process)}};
}

ProcessFilter filter() { return ProcessFilter{{static_cast<pid_t>(kWanted)}}; }

TEST(PerfProcessFilter, KeepsWhatItWasToldAndDropsStrangers) {
  auto f = filter();
  EXPECT_TRUE(f.wants(sample_of(kWanted)));
  EXPECT_FALSE(f.wants(sample_of(kStranger)));
  EXPECT_FALSE(f.wants(sample_of(ProcessId{0})));
  EXPECT_FALSE(f.wants(sample_of(ProcessId{-1})));
}

TEST(PerfProcessFilter, FollowsChildren) {
  auto f = filter();
  EXPECT_TRUE(f.wants(fork_of(kWanted, kChild)));
  EXPECT_TRUE(f.wants(sample_of(kChild)));
  EXPECT_TRUE(f.wants(exit_of(kChild)));
}

TEST(PerfProcessFilter, ANumberUsedAgainByAStrangerIsAStranger) {
  auto f = filter();
  (void)f.wants(fork_of(kWanted, kChild));
  (void)f.wants(exit_of(kChild));
  EXPECT_FALSE(f.wants(fork_of(kStranger, kChild)));
  EXPECT_FALSE(f.wants(sample_of(kChild)));
}

TEST(PerfProcessFilter, AChildSeenBeforeItsForkIsLookedUp) {
  ProcessFilter f{{::getppid()}};
  EXPECT_TRUE(f.wants(sample_of(ProcessId{::getpid()})));
}

TEST(PerfProcessFilter, LossesConcernEverybody) {
  auto f = filter();
  EXPECT_TRUE(f.wants(Lost{.count = 1}));
}

}  // namespace
}  // namespace clrscope::collect::perf
