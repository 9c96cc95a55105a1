// Against the real kernel and real children; what it refuses here is skipped, with its reason.
#include "collect/machine/machine_recorder.h"

#include <gtest/gtest.h>

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
};

Seen count(Bytes trace) {
  Seen seen;
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) {
      if (event.type->provider != "Universal.Events") continue;
      if (event.type->name == "cpu") ++seen.cpu;
      if (event.type->name != "cswitch") continue;
      ++seen.switches;
      if (reader.stack(event.stack).size() > 0) ++seen.switches_with_stack;
    }
  };
  EXPECT_TRUE(reader.feed(trace, on_batch));
  EXPECT_TRUE(reader.finish(on_batch));
  EXPECT_EQ(reader.summary().damaged, 0U);
  return seen;
}

// A child that works and sleeps in turn until it is told to end.
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
Result<MachineOutcome> record(MachineWish wish, std::vector<std::uint8_t>& trace) {
  const auto limit = TraceClock::now() + 60s;
  std::uint64_t events = 0;
  wish.on_status = [&](const StreamStatus& status) { events = status.events; };
  wish.target_ended = [&] { return events > 400 || TraceClock::now() > limit; };
  return record_machine(wish, [&](Bytes bytes) -> Result<> {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
    return {};
  });
}

TEST(MachineRecorder, TellsTheTimesOfWaitsWhereItMayNotTellTheirStacks) {
  const Restless child;
  std::vector<std::uint8_t> trace;
  const auto outcome = record({.processes = {child.pid()}, .waits = WaitsWish::kTimes}, trace);
  if (!outcome) GTEST_SKIP() << outcome.error().what;
  const auto seen = count(trace);
  EXPECT_GT(seen.cpu, 10U);
  EXPECT_GT(seen.switches, 100U);
  EXPECT_EQ(seen.switches_with_stack, 0U);
  EXPECT_EQ(seen.switches, outcome->switches);
}

TEST(MachineRecorder, TellsWhereThreadsWaitWhereItMay) {
  const Restless child;
  std::vector<std::uint8_t> trace;
  const auto outcome = record({.processes = {child.pid()}, .waits = WaitsWish::kStacks}, trace);
  if (!outcome) GTEST_SKIP() << outcome.error().what;
  const auto seen = count(trace);
  EXPECT_GT(seen.switches, 100U);
  EXPECT_GT(seen.switches_with_stack, seen.switches * 9 / 10);
}

}  // namespace
}  // namespace clrscope::collect
