// Twins of real runtimes under allocation load: the process goes on, and ends in order.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "inspect/target.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

class TwinTest : public LiveTest {
 protected:
  static int rounds() { return std::getenv("CLRSCOPE_LONG") ? 200 : 10; }

  static std::size_t children_of(pid_t parent) {
    std::size_t count = 0;
    const auto pids = all_pids();
    for (const auto pid : *pids) {
      const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
      if (!stat) continue;
      const auto fields = split(std::string_view{*stat}.substr(stat->rfind(')') + 2), ' ');
      count += parse_number(fields[1]) == static_cast<std::uint64_t>(parent);
    }
    return count;
  }
};

TEST_P(TwinTest, AreMadeManyTimesUnderLoad) {
  const auto app = start_ready({"alloc", "--rate", "200"});
  const auto live = inspect::open_process(app->pid());
  ASSERT_TRUE(live) << live.error().what;
  ASSERT_TRUE(eventually([&] {  // starts after the ready line
    const auto now = (*live)->threads();
    return now && std::ranges::find(*now, "allocator", &inspect::OsThread::name) != now->end();
  }));
  std::chrono::nanoseconds longest{};
  for (int round = 0; round < rounds(); ++round) {
    const auto twin = inspect::make_twin(app->pid());
    ASSERT_TRUE(twin) << twin.error().what << ' ' << twin.error().hint;
    longest = std::max(longest, twin->pause);
    const auto threads = twin->target->threads();
    ASSERT_TRUE(threads);
    std::size_t allocators = 0;
    for (const auto& thread : *threads) {
      allocators += thread.name == "allocator";
      std::uint8_t word[8];
      EXPECT_EQ(twin->target->memory().read(thread.registers[unwind::kRsp], word), 8U);
    }
    EXPECT_EQ(allocators, 1U);
    EXPECT_EQ(children_of(app->pid()), 1U);
  }
  RecordProperty("longest_pause_us", std::to_string(longest.count() / 1000));
  EXPECT_EQ(children_of(app->pid()), 0U);
  EXPECT_TRUE(app->runs());
  ASSERT_EQ(::kill(app->pid(), SIGTERM), 0);
  EXPECT_THAT(app->next_line(), testing::HasSubstr("\"done\":true"));
}

TEST_P(TwinTest, EndWithWhoeverMadeThem) {
  const auto app = start_ready({"alloc", "--rate", "200"});
  for (int round = 0; round < rounds(); ++round) {
    const auto maker = ::fork();
    if (maker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) (void)inspect::make_twin(app->pid());
    }
    for (int i = 0; i < round * 37 % 101; ++i) ::sched_yield();
    ::kill(maker, SIGKILL);
    ::waitpid(maker, nullptr, 0);
    EXPECT_TRUE(eventually([&] { return children_of(app->pid()) == 0; }));
  }
  EXPECT_TRUE(app->runs());
  ASSERT_EQ(::kill(app->pid(), SIGTERM), 0);
  EXPECT_THAT(app->next_line(), testing::HasSubstr("\"done\":true"));
}

TEST_P(TwinTest, CapturingIsHarmlessWheneverItIsKilled) {
  const auto app = start_ready({"alloc", "--rate", "200"});
  const auto target = inspect::open_process(app->pid());
  ASSERT_TRUE(target) << target.error().what;
  std::vector<pid_t> tids;
  const auto threads = (*target)->threads();
  for (const auto& thread : *threads) tids.push_back(thread.tid);
  for (int round = 0; round < rounds(); ++round) {
    const auto looker = ::fork();
    if (looker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) (void)inspect::capture_threads(app->pid(), tids, 64 << 10);
    }
    for (int i = 0; i < round * 37 % 101; ++i) ::sched_yield();
    ::kill(looker, SIGKILL);
    ::waitpid(looker, nullptr, 0);
  }
  const auto capture = inspect::capture_threads(app->pid(), tids, 64 << 10);
  ASSERT_TRUE(capture) << capture.error().what;
  EXPECT_GE(capture->threads.size() + 2, tids.size());
  ASSERT_EQ(::kill(app->pid(), SIGTERM), 0);
  EXPECT_THAT(app->next_line(), testing::HasSubstr("\"done\":true"));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, TwinTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
