// Against the real kernel and real children; what it refuses here is skipped, with its reason.
#include "collect/machine/machine_recorder.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "collect/perf/test_support.h"
#include "nettrace/reader.h"

namespace clrscope::collect {
namespace {

using namespace std::chrono_literals;

struct Seen {
  std::uint64_t cpu = 0;
  std::uint64_t switches = 0;
  std::uint64_t switches_with_stack = 0;
  std::uint64_t unfinished = 0;  // waits, when it ended
  std::uint64_t waits_ended = 0;
  TraceTime waits_end{};
  TraceTime last_cpu{};
  TraceTime last_switch{};
};

Seen count(Bytes trace) {
  Seen seen;
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) {
      if (event.type->provider != "Universal.Events") continue;
      if (event.type->name == "waits_ended") {
        ++seen.waits_ended;
        seen.waits_end = event.time;
      }
      if (event.type->name == "cpu") {
        ++seen.cpu;
        seen.last_cpu = std::max(seen.last_cpu, event.time);
      }
      if (event.type->name != "cswitch") continue;
      ByteReader in{event.payload};
      (void)in.read_varuint();  // how long
      (void)in.read_varuint();  // against its will
      if (in.read_varuint() != 0) {
        ++seen.unfinished;
        continue;
      }
      seen.last_switch = std::max(seen.last_switch, event.time);
      ++seen.switches;
      if (reader.stack(event.stack).size() > 0) ++seen.switches_with_stack;
    }
  };
  EXPECT_TRUE(reader.feed(trace, on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  EXPECT_EQ(reader.summary().damaged, 0U);
  return seen;
}

// A child that works and sleeps in turn until it is stopped.
class Restless {
 public:
  Restless() : child_(::fork()) {
    CHECK(child_ >= 0);
    if (child_ != 0) return;
    end_.in.reset();
    std::jthread ends{[this] {
      (void)end_.await();
      ::_exit(0);
    }};
    for (;;) {
      perf::burn(1ms);
      std::this_thread::sleep_for(1ms);
    }
  }
  ~Restless() {
    end_.in.reset();
    ::waitpid(child_, nullptr, 0);
  }
  pid_t pid() const { return child_; }

 private:
  perf::Pipe end_;
  pid_t child_;
};

// Records until `enough` waits or samples are there.
Result<MachineOutcome> record(MachineRequest request, std::vector<std::uint8_t>& trace) {
  const auto limit = TraceClock::now() + 60s;
  std::uint64_t events = 0;
  request.on_status = [&](const StreamStatus& status) { events = status.events; };
  request.target_ended = [&] { return events > 400 || TraceClock::now() > limit; };
  return record_machine(request, [&](Bytes bytes) -> Result<> {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
    return {};
  });
}

TEST(MachineRecorder, TellsTheTimesOfWaitsWhereItMayNotTellTheirStacks) {
  const Restless child;
  std::vector<std::uint8_t> trace;
  const auto outcome = record({.processes = {child.pid()}, .waits = WaitDetail::kTimes}, trace);
  if (!outcome && perf::refused(outcome.error())) GTEST_SKIP() << outcome.error().what;
  ASSERT_TRUE(outcome) << outcome.error().what;
  const auto seen = count(trace);
  EXPECT_GT(seen.cpu, 10U);
  EXPECT_GT(seen.switches, 100U);
  EXPECT_EQ(seen.switches_with_stack, 0U);
  EXPECT_EQ(seen.switches, outcome->switches);
}

TEST(MachineRecorder, TellsWhereThreadsWaitWhereItMay) {
  const Restless child;
  std::vector<std::uint8_t> trace;
  const auto outcome = record({.processes = {child.pid()}, .waits = WaitDetail::kStacks}, trace);
  if (!outcome && perf::refused(outcome.error())) GTEST_SKIP() << outcome.error().what;
  ASSERT_TRUE(outcome) << outcome.error().what;
  const auto seen = count(trace);
  EXPECT_GT(seen.switches, 100U);
  EXPECT_GT(seen.switches_with_stack, seen.switches * 9 / 10);
}

TEST(MachineRecorder, LeavesWaitsOutWhereThereAreTooMany) {
  const Restless child;
  for (const auto waits : {WaitDetail::kTimes, WaitDetail::kStacks}) {
    std::vector<std::uint8_t> trace;
    const auto outcome =
        record({.processes = {child.pid()}, .waits = waits, .most_switches = 20}, trace);
    if (!outcome && perf::refused(outcome.error())) GTEST_SKIP() << outcome.error().what;
    ASSERT_TRUE(outcome) << outcome.error().what;
    const auto seen = count(trace);
    EXPECT_EQ(seen.waits_ended, 1U);
    EXPECT_GT(seen.switches, 20U);
    EXPECT_LT(seen.last_switch, seen.waits_end);
    EXPECT_GT(seen.last_cpu, seen.waits_end);
    ASSERT_FALSE(outcome->notes.empty());
    EXPECT_TRUE(outcome->notes.front().starts_with("waits recorded only for the first "));
  }
}

// A child whose code moves to where the kernel does not say, on demand; there it works.
class Mover {
 public:
  Mover() : child_(::fork()) {
    CHECK(child_ >= 0);
    if (child_ != 0) return;
    move_.in.reset();
    ::alarm(120);
    if (move_.await()) work();
    ::_exit(0);
  }
  ~Mover() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  pid_t pid() const { return child_; }
  void move() const { move_.signal(); }

 private:
  [[noreturn]] static void work() {
    // push rbp; mov rbp, rsp; jmp to itself
    static constexpr std::uint8_t kLoop[] = {0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfe};
    constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
    void* old = ::mmap(nullptr, 4096, kAll, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(old, kLoop, sizeof kLoop);
    void* place = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    place = ::mremap(old, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    reinterpret_cast<void (*)()>(place)();
    ::_exit(1);
  }

  perf::Pipe move_;
  pid_t child_;
};

TEST(MachineRecorder, LooksForCodeThatTheKernelDidNotTellOf) {
  const Mover child;
  std::vector<std::uint8_t> trace;
  MachineRequest request{.processes = {child.pid()}};
  request.on_started = [&] { child.move(); };
  const auto outcome = record(std::move(request), trace);
  if (!outcome && perf::refused(outcome.error())) GTEST_SKIP() << outcome.error().what;
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_GT(outcome->samples, 200U);
  EXPECT_LT(outcome->broken_stacks, outcome->samples / 10);
}

}  // namespace
}  // namespace clrscope::collect
