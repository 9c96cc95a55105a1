// Against the real kernel; what it refuses here is skipped, with its reason.
#include "collect/perf/event_set.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <map>
#include <thread>

#include "base/io.h"
#include "base/text.h"
#include "collect/perf/registers_x64.h"
#include "collect/perf/test_support.h"

namespace clrscope::collect::perf {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kRate = 999;

SessionRequest request_for(Scope scope, std::vector<EventRequest> events) {
  SessionRequest request;
  request.scope = scope;
  if (scope != Scope::kMachine) request.processes = {::getpid()};
  request.events = std::move(events);
  return request;
}

EventRequest clock_samples(std::uint32_t stack_bytes) { return cpu_samples(kRate, stack_bytes); }

// What a user without rights sees of time is less than all of it.
double expected_ns(const EventSet& set, std::chrono::nanoseconds cpu) {
  return set.kernel_included() ? static_cast<double>(cpu.count()) : 0;
}

TEST(PerfEventSet, SamplesOurselvesWithTheRightThreadAndTimes) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(kOnCpuStackBytes)}));
  const auto start = TraceClock::now();
  ASSERT_TRUE(set.enable().has_value());
  burn(200ms);
  set.disable();
  const auto end = TraceClock::now();
  std::size_t ours = 0;
  std::size_t with_stack = 0;
  std::size_t out_of_time = 0;
  double stand_for = 0;
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr || sample->origin.thread != this_thread()) return;
    ++ours;
    stand_for += static_cast<double>(sample->period);
    EXPECT_EQ(sample->origin.process, ProcessId{::getpid()});
    if (sample->origin.time < start || sample->origin.time > end) ++out_of_time;
    if (!sample->stack.empty() && sample->registers.get(x64::kRsp).value_or(0) != 0) ++with_stack;
  });
  EXPECT_GE(stand_for, 0.8 * expected_ns(set, 200ms));
  EXPECT_GT(ours, 50U);
  EXPECT_LT(ours, 260U);
  EXPECT_EQ(out_of_time, 0U);
  EXPECT_EQ(with_stack, ours);
  EXPECT_EQ(set.stats().unreadable, 0U);
  EXPECT_EQ(set.stats().lost, 0U);
}

// Samples lie as far apart as they say, whatever period was in force: the kernel itself goes on to
// tell the first one.
TEST(PerfEventSet, SamplesSayTheTimeThatTheyStandForWhileItVaries) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  for (int i = 0; i < 5; ++i) {
    burn(110ms);
    ASSERT_TRUE(set.vary_period().has_value());
  }
  set.disable();
  std::map<std::uint64_t, std::size_t> periods;  // how often each was right
  TraceTime last{};
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr || sample->origin.thread != this_thread()) return;
    const auto apart = static_cast<double>((sample->origin.time - last).count());
    last = sample->origin.time;
    const auto period = static_cast<double>(sample->period);
    periods[sample->period] += apart > 0.9 * period && apart < 1.1 * period;
  });
  EXPECT_GE(periods.size(), 5U);
  EXPECT_FALSE(periods.contains(static_cast<std::uint64_t>(Periods::usual(kRate).count())));
  for (const auto& [period, right] : periods) EXPECT_GT(right, 5U) << period;
}

TEST(PerfEventSet, ThreadsBornMeanwhileSayTheirOwn) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  ThreadId born{};
  std::jthread{[&] {
    born = this_thread();
    burn(120ms);
    ASSERT_TRUE(set.vary_period().has_value());
    burn(120ms);
  }}.join();
  set.disable();
  std::map<std::uint64_t, std::size_t> periods;
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample != nullptr && sample->origin.thread == born) ++periods[sample->period];
  });
  ASSERT_EQ(periods.size(), 1U);  // that which was in force when it was born
  EXPECT_NE(periods.begin()->first, static_cast<std::uint64_t>(Periods::usual(kRate).count()));
}

TEST(PerfEventSet, TellsOfThreadsBeforeThereAreSamples) {
  OPEN_OR_SKIP(set, request_for(Scope::kMachine, {clock_samples(0)}));
  std::size_t samples = 0;
  std::size_t tasks = 0;
  const auto count = [&](const Record& record) {
    if (origin_of(record).process != ProcessId{::getpid()}) return;
    samples += std::holds_alternative<Sample>(record);
    tasks += std::holds_alternative<Task>(record);
  };
  ASSERT_TRUE(set.enable_bookkeeping().has_value());
  std::jthread{[] { burn(20ms); }}.join();
  burn(20ms);
  set.drain(count);
  EXPECT_EQ(samples, 0U);
  EXPECT_GE(tasks, 1U);
  ASSERT_TRUE(set.enable().has_value());
  burn(100ms);
  set.disable();
  set.drain(count);
  EXPECT_GT(samples, 50U);
}

TEST(PerfEventSet, MachineWideSeesUsAmongOthers) {
  OPEN_OR_SKIP(set, request_for(Scope::kMachine, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  burn(100ms);
  set.disable();
  std::size_t ours = 0;
  std::size_t idle = 0;
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr) return;
    if (sample->origin.thread == this_thread()) ++ours;
    if (sample->origin.process == ProcessId{0}) ++idle;
    EXPECT_FALSE(sample->callchain.user.empty() && sample->callchain.kernel.empty());
  });
  EXPECT_GT(ours, 70U);
  EXPECT_EQ(idle, 0U);
  EXPECT_EQ(set.stats().unreadable, 0U);
}

TEST(PerfEventSet, FilteredKeepsOurRecordsOnlyAndFollowsChildren) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, in us and in our children";
#endif
  OPEN_OR_SKIP(set, request_for(Scope::kFiltered, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  pid_t child = 0;
  {
    const Burner burner{50ms};
    child = burner.pid();
    burner.run();
  }
  set.disable();
  std::map<ProcessId, std::size_t> by_process;
  set.drain([&](const Record& record) {
    if (std::holds_alternative<Sample>(record)) ++by_process[origin_of(record).process];
  });
  EXPECT_GT(by_process[ProcessId{child}], 30U);
  by_process.erase(ProcessId{child});
  by_process.erase(ProcessId{::getpid()});
  EXPECT_TRUE(by_process.empty());
}

TEST(PerfEventSet, ThreadsScopeFollowsChildrenAndTellsTheirLife) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has a thread of its own, in us and in our children";
#endif
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  pid_t child = 0;
  {
    const Burner burner{50ms};
    child = burner.pid();
    burner.run();
  }
  set.disable();
  std::size_t samples = 0;
  std::size_t births = 0;
  std::size_t deaths = 0;
  set.drain([&](const Record& record) {
    if (std::holds_alternative<Sample>(record) && origin_of(record).process == ProcessId{child})
      ++samples;
    const auto* task = std::get_if<Task>(&record);
    if (task == nullptr || task->process != ProcessId{child}) return;
    EXPECT_TRUE(task->is_process());
    ++(task->kind == Task::Kind::kFork ? births : deaths);
  });
  EXPECT_GT(samples, 20U);
  EXPECT_EQ(births, 1U);
  EXPECT_EQ(deaths, 1U);
}

// Threads are born all the time, also while the events are being opened: each moment of CPU must be
// counted, and none twice.
TEST(PerfEventSet, ThreadsThatComeAndGoAreCountedOnce) {
  std::jthread churn{[](std::stop_token stop) {
    while (!stop.stop_requested()) {
      std::jthread a{[] { burn(3ms); }};
      std::jthread b{[] { burn(2ms); }};
    }
  }};
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0)}));
  const auto before = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  ASSERT_TRUE(set.enable().has_value());
  burn(200ms);
  set.disable();
  const auto used = cpu_time(CLOCK_PROCESS_CPUTIME_ID) - before;
  churn.request_stop();
  churn.join();
  std::map<ThreadId, std::size_t> by_thread;
  double stand_for = 0;
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr) return;
    stand_for += static_cast<double>(sample->period);
    ++by_thread[sample->origin.thread];
  });
  if (!set.kernel_included()) GTEST_SKIP() << "time in the kernel is not seen by this user";
  EXPECT_GT(by_thread.size(), 3U);
  EXPECT_NEAR(stand_for / expected_ns(set, used), 1.0, 0.25);
}

TEST(PerfEventSet, ATinyRingLosesRecordsAndCountsThem) {
  auto request = request_for(Scope::kThreads, {clock_samples(1024)});
  request.ring_bytes = 4096;
  OPEN_OR_SKIP(set, request);
  ASSERT_TRUE(set.enable().has_value());
  burn(150ms);
  set.disable();
  std::size_t samples = 0;
  set.drain([&](const Record& record) { samples += std::holds_alternative<Sample>(record); });
  const auto stats = set.stats();
  EXPECT_GT(samples, 0U);
  EXPECT_LT(samples, 20U);
  EXPECT_GT(stats.lost, 50U);
  EXPECT_LT(stats.lost, 250U);
  std::uint64_t by_cpu = 0;
  for (const auto& cpu : stats.cpus) by_cpu += cpu.lost;
  EXPECT_EQ(by_cpu, stats.lost);
}

TEST(PerfEventSet, WakesWhenARingIsAQuarterFull) {
  auto request = request_for(Scope::kThreads, {clock_samples(8192)});
  request.ring_bytes = 64 << 10;
  OPEN_OR_SKIP(set, request);
  ASSERT_TRUE(set.enable().has_value());
  burn(50ms);
  const auto woken = set.wait(0ms);
  ASSERT_TRUE(woken.has_value());
  EXPECT_TRUE(*woken);
}

// A thread hands a token to and fro: each hand-over is a wait whose stack must be there.
TEST(PerfEventSet, ContextSwitchesComeWithTheStackOfWhoWaits) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {context_switch_samples()}));
  const auto& format = *set.events()[0].format;
  ASSERT_TRUE(set.enable().has_value());
  Pipe there;
  Pipe back;
  std::jthread partner{[&] {
    for (int i = 0; i < 50 && there.await(); ++i) back.signal();
  }};
  for (int i = 0; i < 50; ++i) {
    there.signal();
    ASSERT_TRUE(back.await());
  }
  partner.join();
  set.disable();
  std::size_t waits = 0;
  std::size_t ins = 0;
  set.drain([&](const Record& record) {
    if (const auto* s = std::get_if<Switch>(&record)) {
      if (s->origin.thread == this_thread() && !s->out) ++ins;
    } else if (const auto* sample = std::get_if<Sample>(&record)) {
      if (sample->origin.thread != this_thread()) return;
      ++waits;
      EXPECT_EQ(format.integer("prev_pid", sample->raw), static_cast<std::int64_t>(this_thread()));
      EXPECT_GT(sample->stack.size(), 100U);
      EXPECT_TRUE(sample->registers.get(x64::kRip).has_value());
    }
  });
  EXPECT_GE(waits, 10U);
  EXPECT_GE(ins, 10U);
  EXPECT_EQ(set.stats().unreadable, 0U);
}

TEST(PerfEventSet, ATracepointWithAFilterGivesExactlyWhatItAsksFor) {
  auto event = tracepoint_samples("raw_syscalls:sys_enter");
  event.filter = "id == 39";
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {event}));
  ASSERT_TRUE(set.enable().has_value());
  for (int i = 0; i < 100; ++i) (void)::syscall(SYS_getpid);
  set.disable();
  std::size_t calls = 0;
  const auto& format = *set.events()[0].format;
  set.drain([&](const Record& record) {
    const auto* sample = std::get_if<Sample>(&record);
    if (sample == nullptr || sample->origin.thread != this_thread()) return;
    ++calls;
    EXPECT_EQ(syscall_name(format.integer("id", sample->raw).value_or(-1)), "getpid");
    EXPECT_EQ(format.integer("common_pid", sample->raw), static_cast<std::int64_t>(this_thread()));
  });
  EXPECT_EQ(calls, 100U);
}

TEST(PerfEventSet, AWrongFilterIsTheUsersError) {
  OPEN_OR_SKIP(usual, request_for(Scope::kThreads, {tracepoint_samples("raw_syscalls:sys_enter")}));
  auto event = tracepoint_samples("raw_syscalls:sys_enter");
  event.filter = "nonsense == 1";
  const auto wrong = EventSet::open(request_for(Scope::kThreads, {event}));
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Errc::kUsage);
  EXPECT_EQ(usual.events().size(), 1U);
}

TEST(PerfEventSet, NewMappingsComeWithTheirBuildId) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0)}));
  ASSERT_TRUE(set.enable().has_value());
  const auto child = ::fork();
  if (child == 0) {
    ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  ::waitpid(child, nullptr, 0);
  set.disable();
  std::size_t with_build_id = 0;
  bool exec = false;
  set.drain([&](const Record& record) {
    if (const auto* m = std::get_if<Mapping>(&record))
      with_build_id += m->build_id.size() == 20 && m->path.find("libc") != std::string_view::npos;
    else if (const auto* name = std::get_if<ThreadName>(&record))
      exec = exec || (name->exec && name->name == "true");
  });
  EXPECT_EQ(with_build_id, 1U);
  EXPECT_TRUE(exec);
}

TEST(PerfEventSet, RaisesTheLimitOfOpenFiles) {
  OPEN_OR_SKIP(usual, request_for(Scope::kThreads, {clock_samples(0)}));
  EXPECT_GT(usual.descriptors(), 1U);
  const auto said = said_by_child([] {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = open_descriptors();  // not one more may be opened
    ::setrlimit(RLIMIT_NOFILE, &limit);
    const auto set = EventSet::open(request_for(Scope::kThreads, {clock_samples(0)}));
    return set ? "opened" : set.error().what;
  });
  EXPECT_EQ(said, "opened");
}

TEST(PerfEventSet, OneOfItsEventsCanBeSwitchedOffForGood) {
  for (const auto scope : {Scope::kMachine, Scope::kThreads}) {
    OPEN_OR_SKIP(set, request_for(scope, {clock_samples(0), switch_records()}));
    ASSERT_TRUE(set.enable().has_value());
    const auto seen_in_a_while = [&] {
      std::pair<std::size_t, std::size_t> seen;  // switches, samples
      for (int i = 0; i < 20; ++i) {
        burn(5ms);
        std::this_thread::sleep_for(1ms);
      }
      set.drain([&](const Record& record) {
        seen.first += std::holds_alternative<Switch>(record);
        seen.second += std::holds_alternative<Sample>(record);
      });
      return seen;
    };
    const auto before = seen_in_a_while();
    EXPECT_GE(before.first, 20U);
    set.disable_event(1);
    set.drain([](const Record&) {});
    std::this_thread::sleep_for(2ms);  // what is a moment old stays in the ring till then
    set.drain([](const Record&) {});
    const auto after = seen_in_a_while();
    EXPECT_EQ(after.first, 0U);
    EXPECT_GT(after.second, 10U);
  }
}

TEST(PerfEventSet, LeavesNoDescriptorAndNoMountBehind) {
  const auto tracefs_mounts = [] {
    const auto mounts = read_file("/proc/self/mounts");
    std::size_t count = 0;
    for (const auto line : split(*mounts, '\n')) count += line.starts_with("tracefs ");
    return count;
  };
  const auto descriptors_before = open_descriptors();
  const auto mounts_before = tracefs_mounts();
  for (const auto scope : {Scope::kMachine, Scope::kThreads, Scope::kFiltered}) {
    auto set = EventSet::open(request_for(scope, {clock_samples(0), context_switch_samples()}));
    if (set) {
      EXPECT_TRUE(set->enable().has_value());
    }
  }
  EXPECT_EQ(open_descriptors(), descriptors_before);
  EXPECT_EQ(tracefs_mounts(), mounts_before);
}

TEST(PerfEventSet, AProcessThatIsGoneIsSaidToBe) {
  const auto child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  SessionRequest request{
      .scope = Scope::kThreads, .processes = {child}, .events = {clock_samples(0)}};
  const auto set = EventSet::open(request);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, Errc::kGone);
}

// A thread is sampled on one CPU and goes to sleep on another: what comes first must be told first.
TEST(PerfEventSet, TellsTheRecordsOfAllCpusInTheOrderOfTheirTimes) {
  OPEN_OR_SKIP(set, request_for(Scope::kThreads, {clock_samples(0), switch_records()}));
  ASSERT_TRUE(set.enable().has_value());
  TraceTime newest{};
  std::size_t records = 0;
  std::size_t late = 0;
  const auto look = [&] {
    set.drain([&](const Record& record) {
      const auto time = origin_of(record).time;
      ++records;
      if (time + 1ms < newest) ++late;  // an interrupt may come between a record's date and it
      newest = std::max(newest, time);
    });
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([] {
        for (int round = 0; round < 50; ++round) {
          burn(1ms);
          std::this_thread::sleep_for(1ms);
        }
      });
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(5ms);
      look();
    }
  }
  set.disable();
  look();
  EXPECT_GT(records, 400U);
  EXPECT_EQ(late, 0U);
}

}  // namespace
}  // namespace clrscope::collect::perf
