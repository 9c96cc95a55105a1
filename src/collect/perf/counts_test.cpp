#include "collect/perf/counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <latch>
#include <thread>

namespace clrscope::collect::perf {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Counts, AreAddedUpAsTheyAreWhereACounterWasThereAllTheTime) {
  const RawCount parts[] = {{100, 50, 50}, {11, 20, 20}};
  const auto sum = sum_of("cycles", parts);
  EXPECT_EQ(sum.value, 111U);
  EXPECT_DOUBLE_EQ(sum.share, 1);
}

TEST(Counts, AreScaledForTheTimeThatACounterWasTakenAway) {
  const RawCount parts[] = {{100, 400, 100}, {10, 100, 100}};
  const auto sum = sum_of("cycles", parts);
  EXPECT_EQ(sum.value, 410U);
  EXPECT_DOUBLE_EQ(sum.share, 0.4);
}

TEST(Counts, OfAThreadThatNeverRanAreNothing) {
  const RawCount parts[] = {{0, 0, 0}, {7, 10, 10}};
  EXPECT_EQ(sum_of("x", parts).value, 7U);
  const RawCount starved[] = {{0, 100, 0}};
  EXPECT_EQ(sum_of("x", starved).value, 0U);
  EXPECT_DOUBLE_EQ(sum_of("x", starved).share, 0);
}

TEST(Counts, AreShownWithInstructionsPerCycle) {
  const Counts counts{.counted = {{"cycles", 2000}, {"instructions", 3000, 0.5}}};
  EXPECT_EQ(words_for(counts),
            "cycles 2,000, instructions 3,000 (counted 50 % of the time) (1.50 per cycle)");
}

constexpr std::size_t kPages = 3000;

// Past the sanitizers: they would touch pages of their own.
__attribute__((no_sanitize("address", "thread"))) void touch() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto mapped = ::syscall(SYS_mmap, nullptr, kPages * page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, -1);
  ASSERT_EQ(::syscall(SYS_madvise, mapped, kPages * page, MADV_NOHUGEPAGE), 0);
  auto* const memory = reinterpret_cast<volatile char*>(mapped);
  for (std::size_t i = 0; i < kPages; ++i) memory[i * page] = 1;
  ::syscall(SYS_munmap, mapped, kPages * page);
}

// The kernel's own counters go the same way as the processor's, and are everywhere.
TEST(Counting, CountsThePageFaultsOfThisProcessAndOfThreadsThatStartLater) {
  auto counting = Counting::start(::getpid());
  if (!counting) GTEST_SKIP() << counting.error().what;
  const auto before = counting->read();
  ASSERT_NE(before.find("page-faults"), nullptr);
  std::thread{touch}.join();
  const auto middle = counting->read();
  EXPECT_GE(middle.find("page-faults")->value, before.find("page-faults")->value + kPages);
  touch();
  const auto after = counting->read();
  EXPECT_GE(after.find("page-faults")->value, middle.find("page-faults")->value + kPages);
  EXPECT_LT(after.find("page-faults")->value, before.find("page-faults")->value + 4 * kPages);
  EXPECT_GT(after.find("task-clock")->value, before.find("task-clock")->value);
  counting->restart();
  EXPECT_LT(counting->read().find("page-faults")->value, kPages);
}

TEST(Counting, SaysWhyThereAreNoHardwareCountersOrCountsThem) {
  const auto counting = Counting::start(::getpid());
  if (!counting) GTEST_SKIP() << counting.error().what;
  const auto counts = counting->read();
  if (!counts.find("instructions")) {
    EXPECT_THAT(counts.no_hardware, HasSubstr("cycles: "));
    EXPECT_FALSE(counts.hint.empty());
    GTEST_SKIP() << "no hardware counters here: " << counts.no_hardware;
  }
  EXPECT_GT(counts.find("instructions")->value, 0U);
}

}  // namespace
}  // namespace clrscope::collect::perf
