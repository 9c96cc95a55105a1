#include "collect/perf/snapshot.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>

#include "collect/perf/test_support.h"

namespace clrscope::collect::perf {
namespace {

constexpr TraceTime kStart{std::chrono::nanoseconds{4711}};

TEST(PerfSnapshot, ReadsALineOfMaps) {
  const auto m = parse_maps_line(
      "7f12a000-7f12c000 r-xp 00001000 fd:01 1234                 /usr/lib/a b.so (deleted)");
  ASSERT_TRUE(m.has_value());
  EXPECT_EQ(m->address, 0x7f12a000U);
  EXPECT_EQ(m->size, 0x2000U);
  EXPECT_EQ(m->file_offset, 0x1000U);
  EXPECT_EQ(m->protection, static_cast<unsigned>(PROT_READ | PROT_EXEC));
  EXPECT_EQ(m->major, 0xfdU);
  EXPECT_EQ(m->inode, 1234U);
  EXPECT_EQ(m->path, "/usr/lib/a b.so (deleted)");
}

TEST(PerfSnapshot, NamesAnonymousMemoryAsTheKernelDoes) {
  EXPECT_EQ(parse_maps_line("1000-2000 rwxp 00000000 00:00 0 ")->path, "//anon");
  EXPECT_EQ(parse_maps_line("1000-2000 rwxp 00000000 00:00 0")->path, "//anon");
  EXPECT_EQ(parse_maps_line("1000-2000 r-xp 00000000 00:00 0    [vdso]")->path, "[vdso]");
}

TEST(PerfSnapshot, RefusesWhatIsNoLineOfMaps) {
  for (const auto* line : {"", "x", "2000-1000 r-xp 0 00:00 0", "1000-2000 r-x", "1000-2000 r-xp 0",
                           "1000-2000 r-xp 0 00:00 zz", "1000-2000"})
    EXPECT_FALSE(parse_maps_line(line).has_value()) << line;
}

TEST(PerfSnapshot, ShowsOurThreadsAndOurCode) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, in us and in our children";
#endif
  Pipe ready;
  Pipe leave;
  std::jthread named{[&] {
    ::prctl(PR_SET_NAME, "snap-thread");
    ready.signal();
    (void)leave.await();
  }};
  ASSERT_TRUE(ready.await());
  bool named_seen = false;
  bool our_code = false;
  std::size_t processes = 0;
  const auto here = reinterpret_cast<std::uint64_t>(&burn);
  const auto totals = take_snapshot(
      {::getpid()}, kStart,
      {.on_process =
           [&](const ProcessFacts& facts) {
             ++processes;
             EXPECT_EQ(facts.process, ProcessId{::getpid()});
             EXPECT_EQ(facts.threads.size(), 2U);
             EXPECT_GT(facts.start_ticks, 0U);
           },
       .on_record =
           [&](const Record& record) {
             EXPECT_EQ(origin_of(record).time, kStart);
             if (const auto* name = std::get_if<ThreadName>(&record))
               named_seen = named_seen || name->name == "snap-thread";
             else if (const auto* m = std::get_if<Mapping>(&record))
               our_code = our_code || (m->address <= here && here - m->address < m->size &&
                                       m->path.ends_with("collect_test"));
           }});
  leave.signal();
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(processes, 1U);
  EXPECT_EQ(totals->threads, 2U);
  EXPECT_GT(totals->mappings, 2U);
  EXPECT_TRUE(named_seen);
  EXPECT_TRUE(our_code);
}

TEST(PerfSnapshot, KnowsTheNumbersOfAPrivatePidNamespace) {
  const auto said = said_by_child([] {
    if (::unshare(CLONE_NEWPID) != 0) return std::string{"refused"};
    Pipe leave;
    const auto inner = ::fork();
    if (inner == 0) {
      (void)leave.await();
      ::_exit(0);
    }
    pid_t own = -1;
    std::uint64_t own_thread = 0;
    (void)take_snapshot({inner}, kStart,
                        {.on_process =
                             [&](const ProcessFacts& facts) {
                               own = facts.own_pid;
                               own_thread = static_cast<std::uint64_t>(facts.threads[0].own_id);
                             },
                         .on_record = [](const Record&) {}});
    leave.signal();
    ::waitpid(inner, nullptr, 0);
    return fmt::format("{} {}", own, own_thread);
  });
  if (said == "refused") GTEST_SKIP() << "may not make a pid namespace here";
  EXPECT_EQ(said, "1 1");
}

TEST(PerfSnapshot, CountsAProcessThatIsGone) {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  const auto totals = take_snapshot({child}, kStart, {.on_record = [](const Record&) {}});
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->gone, 1U);
  EXPECT_EQ(totals->processes, 0U);
}

TEST(PerfSnapshot, OfAllProcessesHasUsAmongThem) {
  bool us = false;
  const auto totals = take_snapshot(
      {}, kStart,
      {.on_process = [&](const ProcessFacts& f) { us = us || f.process == ProcessId{::getpid()}; },
       .on_record = [](const Record&) {}});
  ASSERT_TRUE(totals.has_value());
  EXPECT_TRUE(us);
}

}  // namespace
}  // namespace clrscope::collect::perf
