// Twins of real runtimes under allocation load: the process goes on, and ends in order.
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/proc.h"
#include "base/text.h"
#include "inspect/gc_table.h"
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
    longest = std::max(longest, twin->cost.pause);
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

// What the heartbeat sample answers when it is asked.
struct Beats {
  std::chrono::nanoseconds longest{};  // gap since it was asked last
  std::int64_t asked = 0;
  std::int64_t collections = 0;
  std::int64_t wrong = 0;
};

Beats ask(Target& app) {
  EXPECT_EQ(::kill(app.pid(), SIGUSR1), 0);
  const auto answer = read_json(app.next_line());
  Beats beats;
  if (!answer || !answer->find("gaps")) return beats;
  for (const auto& gap : *answer->find("gaps")->array())
    beats.longest =
        std::max(beats.longest, std::chrono::nanoseconds{gap.find("gapNs")->integer().value_or(0)});
  beats.asked = answer->find("asked")->integer().value_or(0);
  beats.collections = answer->find("collections")->integer().value_or(0);
  beats.wrong = answer->find("wrong")->integer().value_or(-1);
  return beats;
}

// How long its threads have waited for a CPU so far, all together: what others do to it.
std::chrono::nanoseconds waited_for_cpu(pid_t pid) {
  std::chrono::nanoseconds all{};
  const auto folder = "/proc/" + std::to_string(pid) + "/task";
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator{folder, gone})
    if (const auto text = read_file(thread.path().string() + "/schedstat"))
      if (const auto fields = split(*text, ' '); fields.size() > 1)
        all += std::chrono::nanoseconds{parse_number(fields[1]).value_or(0)};
  return all;
}

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

TEST_P(TwinTest, DelayTheHeartbeatForNoLongerThanTheySay) {
  const auto app = start_ready({"heartbeat"});
  const int rounds = std::getenv("CLRSCOPE_LONG") ? 200 : 20;
  std::chrono::nanoseconds without{};
  struct Round {
    std::chrono::nanoseconds gap{}, said{}, others{};
  };
  std::vector<Round> with;
  Beats last = ask(*app);
  std::int64_t asked = last.asked;
  for (int round = 0; round < rounds; ++round) {
    ::poll(nullptr, 0, 60);
    last = ask(*app);
    without = std::max(without, last.longest);
    const auto others = waited_for_cpu(app->pid());
    auto twin = inspect::make_twin(app->pid());
    ASSERT_TRUE(twin) << twin.error().what << ' ' << twin.error().hint;
    EXPECT_TRUE(twin->between_collections);
    ::poll(nullptr, 0, round % 4 * 20);  // it may live for a while
    const auto cost = twin->end();
    EXPECT_GE(cost.pause, twin->cost.pause);
    EXPECT_GT(cost.first_writes.count(), 0);
    EXPECT_EQ(children_of(app->pid()), 0U);
    ::poll(nullptr, 0, 60);  // the first writes to what was not copied
    const auto after = ask(*app);
    asked += 2;
    EXPECT_EQ(after.asked, asked) << "a signal was lost";
    EXPECT_EQ(after.wrong, 0);
    // Threads that have ended take their part of the sum along.
    const auto waited = std::max(std::chrono::nanoseconds{}, waited_for_cpu(app->pid()) - others);
    with.push_back({after.longest, cost.at_most(), waited});
  }
  const auto beyond = std::ranges::count_if(
      with, [&](const Round& one) { return one.gap > one.said + without + one.others; });
  const auto strictly =
      std::ranges::count_if(with, [&](const Round& one) { return one.gap > one.said + without; });
  const auto longest = std::ranges::max(with, {}, &Round::gap);
  std::printf(
      "%s: %d twins, longest gap %.1f ms where %.1f ms was said, without us %.1f ms; beyond: %d, "
      "of these not for want of a CPU: %d\n",
      GetParam().c_str(), rounds, ms(longest.gap), ms(longest.said), ms(without),
      static_cast<int>(strictly), static_cast<int>(beyond));
  // A machine that is not ours alone stops us as it likes.
  EXPECT_LE(beyond, rounds / 20);
  ASSERT_EQ(::kill(app->pid(), SIGTERM), 0);
  EXPECT_THAT(app->next_line(), testing::HasSubstr("\"wrong\":0"));
}

TEST_P(TwinTest, AreMadeBetweenCollections) {
  const auto app = start_ready({"heartbeat", "--rate", "400", "--kept-mb", "100"});
  const auto live = inspect::open_process(app->pid());
  ASSERT_TRUE(live) << live.error().what;
  const auto counter = inspect::find_gc_invalid_counter(**live);
  ASSERT_TRUE(counter) << counter.error().what;
  const auto count = [&](inspect::MemorySource& memory) {
    std::uint32_t value = 77;
    EXPECT_EQ(memory.read(*counter, {reinterpret_cast<std::uint8_t*>(&value), 4}), 4U);
    return value;
  };
  // It is the right place: not 0 now and then, and 0 again.
  ASSERT_TRUE(eventually([&] { return count((*live)->memory()) == 1; }));
  ASSERT_TRUE(eventually([&] { return count((*live)->memory()) == 0; }));
  std::uint32_t stops = 0;
  for (int round = 0; round < rounds(); ++round) {
    auto twin = inspect::make_twin(app->pid());
    ASSERT_TRUE(twin) << twin.error().what << ' ' << twin.error().hint;
    EXPECT_EQ(count(twin->target->memory()), 0U);
    stops += twin->cost.stops;
  }
  EXPECT_GE(stops, static_cast<std::uint32_t>(rounds()));
  std::printf("%s: %d twins between collections took %u stops\n", GetParam().c_str(), rounds(),
              stops);
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
