// The timers of CPU time, in this process and with its real signals.
#include "agent/cpu_timer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <vector>

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

std::uint64_t thread_cpu() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Burns CPU time until the condition holds.
template <class Until>
void burn(Until&& until) {
  while (!until()) (void)thread_cpu();
}

struct Seen {
  std::map<std::uint32_t, std::uint64_t> weights{};  // by thread
  std::uint64_t samples = 0;
  std::uint64_t wrong = 0;
};

class CpuTimersTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(recorder_->open());
    (void)recorder_->reset();
    for (auto& ring : recorder_->arena()->rings) rings_.emplace_back(ring);
  }
  void TearDown() override {
    timers_.stop();
    ::signal(SIGPROF, SIG_DFL);
  }
  void drain() {
    for (auto& ring : rings_)
      ring.drain([&](const void* bytes, std::uint32_t size) {
        const auto* sample = wire::parse_cpu_sample(bytes, size);
        if (!sample || sample->weight_ns == 0 || sample->stack_bytes == 0) {
          ++seen_.wrong;
          return;
        }
        ++seen_.samples;
        seen_.weights[sample->header.thread] += sample->weight_ns;
      });
  }

  // The handler may still run on another thread when a test ends: these stay.
  static inline Recorder* recorder_ = new Recorder;     // NOLINT(cppcoreguidelines-owning-memory)
  static inline CpuTimers& timers_ = *(new CpuTimers);  // NOLINT(cppcoreguidelines-owning-memory)
  std::vector<wire::RingReader> rings_;
  Seen seen_;
};

std::uint64_t handler_of_prof() {
  struct sigaction now {};
  ::sigaction(SIGPROF, nullptr, &now);
  return reinterpret_cast<std::uintptr_t>(now.sa_sigaction);
}

TEST_F(CpuTimersTest, WeighsTheSamplesOfAThreadWithItsCpuTime) {
  std::atomic<bool> end{false};
  std::atomic<std::uint32_t> thread{0};
  std::atomic<std::uint64_t> used{0};
  std::thread worker{[&] {
    thread = thread_id();
    burn([&] {
      used = thread_cpu();
      return end.load();
    });
  }};
  while (thread == 0) std::this_thread::yield();
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  const auto before = used.load();
  while (seen_.samples < 50) {
    drain();
    timers_.look(monotonic_ns());
  }
  timers_.stop();
  const auto after = used.load();
  drain();
  end = true;
  worker.join();
  EXPECT_EQ(seen_.wrong, 0U);
  EXPECT_GT(seen_.weights[thread], 0U);
  // No sample stands for more than there was: a tick and the time to start are allowed.
  EXPECT_LT(seen_.weights[thread], after - before + 100'000'000);
}

TEST_F(CpuTimersTest, FindsThreadsThatStartLaterAndForgetsThoseThatEnd) {
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  for (int round = 0; round < 8; ++round) {
    std::atomic<bool> end{false};
    std::atomic<std::uint32_t> thread{0};
    std::thread worker{[&] {
      thread = thread_id();
      burn([&] { return end.load(); });
    }};
    while (thread == 0) std::this_thread::yield();
    while (seen_.weights[thread] == 0) {
      timers_.look(monotonic_ns());
      drain();
    }
    end = true;
    worker.join();
  }
  EXPECT_EQ(seen_.wrong, 0U);
}

std::atomic<int> g_with_info{0};
std::atomic<int> g_plain{0};
void with_info(int, siginfo_t* info, void*) {
  if (info->si_code == SI_TKILL) g_with_info.fetch_add(1);
}
void plain(int) { g_plain.fetch_add(1); }

std::atomic<int> g_taker_calls{0};
struct sigaction g_taken {};
// As handlers do that are installed over others: its own work, then the one before it.
void taker(int signal, siginfo_t* info, void* context) {
  if (info->si_code == SI_TKILL) g_taker_calls.fetch_add(1);
  if ((g_taken.sa_flags & SA_SIGINFO) != 0) g_taken.sa_sigaction(signal, info, context);
}

TEST_F(CpuTimersTest, CallsEachHandlerOnceWhenTheAppTakesTheSignalOver) {
  struct sigaction own {};
  own.sa_sigaction = with_info;
  own.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGPROF, &own, nullptr), 0);
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  struct sigaction next {};
  next.sa_sigaction = taker;
  next.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGPROF, &next, &g_taken), 0);
  const auto theirs = handler_of_prof();
  while (handler_of_prof() == theirs) timers_.look(monotonic_ns());
  g_with_info = 0;
  for (int round = 1; round <= 3; ++round) {
    g_taker_calls = g_with_info = 0;
    ::raise(SIGPROF);
    EXPECT_EQ(g_taker_calls, 1) << "while it samples, round " << round;
    EXPECT_EQ(g_with_info, 1) << "while it samples, round " << round;
    timers_.stop();
    EXPECT_EQ(handler_of_prof(), theirs);
    ::raise(SIGPROF);
    EXPECT_EQ(g_taker_calls, 2) << "afterwards, round " << round;
    EXPECT_EQ(g_with_info, 2) << "afterwards, round " << round;
    ASSERT_TRUE(timers_.start(*recorder_, 1000));
  }
}

TEST_F(CpuTimersTest, PassesTheSignalsOfTheAppOnAndGivesItsHandlerBack) {
  struct sigaction own {};
  own.sa_sigaction = with_info;
  own.sa_flags = SA_SIGINFO;
  ASSERT_EQ(::sigaction(SIGPROF, &own, nullptr), 0);
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  EXPECT_NE(handler_of_prof(), reinterpret_cast<std::uintptr_t>(&with_info));
  const auto before = g_with_info.load();
  for (int i = 0; i < 20; ++i) ::raise(SIGPROF);
  EXPECT_EQ(g_with_info, before + 20);

  // The app takes the signal; the next look takes it again and passes on to the new handler.
  ::signal(SIGPROF, plain);
  const auto taken = recorder_->arena()->header.cpu_handler_taken.load();
  while (recorder_->arena()->header.cpu_handler_taken == taken) timers_.look(monotonic_ns());
  EXPECT_NE(handler_of_prof(), reinterpret_cast<std::uintptr_t>(&plain));
  const auto plain_before = g_plain.load();
  ::raise(SIGPROF);
  EXPECT_GE(g_plain, plain_before + 1);
  timers_.stop();
  EXPECT_EQ(handler_of_prof(), reinterpret_cast<std::uintptr_t>(&plain));
}

TEST_F(CpuTimersTest, IgnoresTheSignalAfterwardsWhereNobodyHandledIt) {
  ::signal(SIGPROF, SIG_DFL);
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  timers_.stop();
  EXPECT_EQ(handler_of_prof(), reinterpret_cast<std::uintptr_t>(SIG_IGN));
  ::raise(SIGPROF);
}

TEST_F(CpuTimersTest, CountsSamplesThatTheRingsHaveNoRoomFor) {
  const auto& drops = recorder_->arena()->header.drops;
  const auto full = static_cast<int>(wire::Drop::kRingFull);
  // Rings that nobody reads; filled by hand, since samples are few.
  while (recorder_->fill_record(1, wire::kLargestRecord, [](void* memory) {
    static_cast<wire::RecordHeader*>(memory)->kind = wire::RecordKind::kCpuSample;
    static_cast<wire::RecordHeader*>(memory)->bytes = wire::kLargestRecord;
  })) {
  }
  const auto before = drops[full].load();
  std::thread worker{[&] { burn([&] { return drops[full].load() > before; }); }};
  ASSERT_TRUE(timers_.start(*recorder_, 1000));
  while (drops[full].load() == before) timers_.look(monotonic_ns());
  worker.join();
}

TEST(CpuSample, IsReadOnlyWhenItsStackLiesInside) {
  alignas(8) std::uint8_t bytes[sizeof(wire::CpuSample) + 16]{};
  auto* sample = reinterpret_cast<wire::CpuSample*>(bytes);
  sample->header.kind = wire::RecordKind::kCpuSample;
  sample->header.bytes = sizeof bytes;
  sample->stack_bytes = 16;
  EXPECT_NE(wire::parse_cpu_sample(bytes, sizeof bytes), nullptr);
  sample->stack_bytes = 17;
  EXPECT_EQ(wire::parse_cpu_sample(bytes, sizeof bytes), nullptr);
  sample->stack_bytes = 0xffff'ffff;
  EXPECT_EQ(wire::parse_cpu_sample(bytes, sizeof bytes), nullptr);
  for (std::uint32_t size = 0; size < sizeof(wire::CpuSample); ++size)
    EXPECT_EQ(wire::parse_cpu_sample(bytes, size), nullptr);
}

}  // namespace
}  // namespace clrscope::agent
