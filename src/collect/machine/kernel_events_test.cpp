#include "collect/machine/kernel_events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/io.h"
#include "collect/perf/registers_x64.h"
#include "nettrace/reader.h"

namespace clrscope::collect {
namespace {

TraceTime at(std::int64_t ns) { return TraceTime{std::chrono::nanoseconds{ns}}; }

perf::Origin origin_of_thread(int process, std::uint64_t thread, std::int64_t ns) {
  perf::Origin origin;
  origin.process = ProcessId{process};
  origin.thread = ThreadId{thread};
  origin.time = at(ns);
  return origin;
}

class KernelEventsTest : public testing::Test {
 protected:
  void sample(int process, std::uint64_t thread, std::int64_t ns) {
    perf::Sample sample;
    sample.origin = origin_of_thread(process, thread, ns);
    sample.origin.event = perf::EventIndex{0};
    events_.take(sample);
  }
  void fork(int parent, std::uint64_t parent_thread, int process, std::uint64_t thread,
            std::int64_t ns) {
    perf::Task task;
    task.origin = origin_of_thread(parent, parent_thread, ns);
    task.kind = perf::Task::Kind::kFork;
    task.process = ProcessId{process};
    task.parent_process = ProcessId{parent};
    task.thread = ThreadId{thread};
    task.parent_thread = ThreadId{parent_thread};
    task.time = at(ns);
    events_.take(task);
  }
  void exit(int process, std::uint64_t thread, std::int64_t ns) {
    perf::Task task;
    task.origin = origin_of_thread(process, thread, ns);
    task.kind = perf::Task::Kind::kExit;
    task.process = ProcessId{process};
    task.thread = ThreadId{thread};
    task.time = at(ns);
    events_.take(task);
  }
  void name(int process, std::uint64_t thread, std::string_view text) {
    perf::ThreadName record;
    record.origin = origin_of_thread(process, thread, 2000);
    record.process = ProcessId{process};
    record.thread = ThreadId{thread};
    record.name = text;
    events_.take(record);
  }
  std::string name_of(std::uint64_t thread) {
    EXPECT_TRUE(events_.write_names(at(9000)));
    EXPECT_TRUE(writer_.finish());
    nettrace::Reader reader;
    const auto skip = [](const nettrace::Batch&) {};
    EXPECT_TRUE(reader.feed(trace_, skip));
    EXPECT_TRUE(reader.finish(skip));
    for (const auto& one : reader.threads())
      if (one.thread == ThreadId{thread}) return one.name;
    return "none";
  }

  std::vector<std::uint8_t> trace_;
  nettrace::Writer writer_{{.version = 6, .sync_ticks = 1000, .ticks_per_second = 1'000'000'000},
                           [this](Bytes bytes) -> Result<> {
                             trace_.insert(trace_.end(), bytes.begin(), bytes.end());
                             return {};
                           }};
  KernelEvents events_{writer_, {.roles = {KernelEvents::Role::kCpu}}};
};

TEST_F(KernelEventsTest, ANewThreadHasTheNameOfWhoMadeIt) {
  name(70000, 70000, "shop");
  fork(70000, 70000, 70000, 70001, 3000);
  sample(70000, 70001, 4000);
  EXPECT_EQ(name_of(70001), "shop");
}

TEST_F(KernelEventsTest, AThreadThatTakesANameHasThat) {
  name(70000, 70000, "shop");
  fork(70000, 70000, 70000, 70001, 3000);
  name(70000, 70001, "worker");
  sample(70000, 70001, 4000);
  EXPECT_EQ(name_of(70001), "worker");
}

TEST_F(KernelEventsTest, AThreadThatEndedHasItsNameStill) {
  name(70000, 70000, "shop");
  fork(70000, 70000, 70000, 70001, 3000);
  exit(70000, 70001, 3500);
  sample(70000, 70001, 3400);  // as another CPU's ring tells it
  EXPECT_EQ(name_of(70001), "shop");
}

// A long recording must not gather them.
TEST_F(KernelEventsTest, ThreadsThatEndedLongAgoAreForgotten) {
  name(70000, 70000, "shop");
  for (std::uint64_t thread = 70001; thread < 85000; ++thread) {
    fork(70000, 70000, 70000, thread, 3000);
    sample(70000, thread, 3000);
    exit(70000, thread, 3000);
  }
  sample(70000, 70001, 2999);
  EXPECT_TRUE(writer_.finish());
  nettrace::Reader reader;
  const auto skip = [](const nettrace::Batch&) {};
  EXPECT_TRUE(reader.feed(trace_, skip));
  std::vector<std::string> names;
  for (const auto& one : reader.threads())
    if (one.thread == ThreadId{70001}) names.push_back(one.name);
  EXPECT_EQ(names.size(), 2U) << "it was declared again";
}

class OpenWaits : public testing::Test {
 protected:
  void change(std::uint64_t thread, bool out, std::int64_t ns) {
    perf::Switch record;
    record.origin = origin_of_thread(::getpid(), thread, ns);
    record.out = out;
    events_.take(record);
  }
  struct Wait {
    ThreadId thread;
    std::uint64_t ns;
    std::uint64_t unfinished;
    bool has_stack;
    friend bool operator==(const Wait&, const Wait&) = default;
  };
  std::vector<Wait> written() {
    EXPECT_TRUE(writer_.finish());
    nettrace::Reader reader;
    std::vector<Wait> all;
    EXPECT_TRUE(reader.feed(trace_, [&](const nettrace::Batch& batch) {
      for (const auto& event : batch.events) {
        if (event.type->name != "cswitch") continue;
        ByteReader in{event.payload};
        const auto ns = in.read_varuint();
        (void)in.read_varuint();  // preempted
        all.push_back({event.thread, ns, in.read_varuint(), event.stack != StackId::kNone});
      }
    }));
    return all;
  }

  std::vector<std::uint8_t> trace_;
  nettrace::Writer writer_{{.version = 6, .sync_ticks = 1000, .ticks_per_second = 1'000'000'000},
                           [this](Bytes bytes) -> Result<> {
                             trace_.insert(trace_.end(), bytes.begin(), bytes.end());
                             return {};
                           }};
  KernelEvents events_{writer_, {.waits = WaitDetail::kTimes}};
};

TEST_F(OpenWaits, AreWrittenUntilTheEnd) {
  events_.start(at(2000));
  change(70001, true, 3000);
  change(70001, false, 3500);
  const auto own = static_cast<std::uint64_t>(::gettid());
  change(own, true, 4000);
  change(70002, true, 4000);  // has ended: there is no such thread
  events_.write_open_waits(at(9000), {});
  auto all = written();
  ASSERT_FALSE(all.empty());
  all.back().has_stack = false;  // we run: whatever we were seen in
  EXPECT_EQ(all,
            (std::vector<Wait>{{ThreadId{70001}, 500, 0, false}, {ThreadId{own}, 5000, 1, false}}));
}

// A thread of our own that waits for us: its stack is where it waits.
TEST_F(OpenWaits, OfThreadsThatNeverRanAreWrittenWithTheirStack) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  std::atomic<pid_t> tid = 0;
  std::jthread sleeper{[&] {
    tid = ::gettid();
    char byte = 0;
    (void)::read(pipe[0], &byte, 1);
  }};
  const auto sleeps = [&] {
    const auto syscall = read_file(fmt::format("/proc/self/task/{}/syscall", tid.load()));
    return tid != 0 && syscall && syscall->starts_with("0 ");
  };
  while (!sleeps()) std::this_thread::yield();
  events_.start(at(2000));
  EXPECT_TRUE(perf::read_mappings(::getpid(), at(2000),
                                  [&](const perf::Mapping& one) { events_.take(one); }));
  events_.write_open_waits(at(9000), {ProcessId{::getpid()}});
  const ThreadId thread{static_cast<std::uint64_t>(tid.load())};
  EXPECT_EQ(::write(pipe[1], "x", 1), 1);
  sleeper.join();
  // Beside it, a sanitizer may have threads of its own.
  EXPECT_EQ(std::ranges::count(written(), Wait{thread, 7000, 1, true}), 1);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// Our own process, of which no record told anything.
class UnknownCode : public KernelEventsTest {
 protected:
  // With a walk of the kernel's, rbp leads out of what was copied of the stack.
  void sample_at(std::uint64_t pc, std::int64_t ns, std::span<const std::uint64_t> walk = {}) {
    static constexpr std::uint64_t kNothing[8] = {};
    const auto rsp = reinterpret_cast<std::uint64_t>(kNothing);
    perf::Sample sample;
    sample.origin = origin_of_thread(::getpid(), static_cast<std::uint64_t>(::getpid()), ns);
    sample.origin.event = perf::EventIndex{0};
    const std::uint64_t values[] = {walk.empty() ? 0 : rsp + 4096, rsp, pc};
    static constexpr auto kMask =
        1ULL << perf::x64::kRbp | 1ULL << perf::x64::kRsp | 1ULL << perf::x64::kRip;
    sample.registers = {kMask, bytes_of(values)};
    sample.stack = bytes_of(kNothing);
    sample.callchain.user = StackView{bytes_of(walk), sizeof(std::uint64_t)};
    events_.take(sample);
  }
  static Bytes bytes_of(std::span<const std::uint64_t> values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()};
  }
  std::uint64_t broken() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : events_.broken_stacks()) sum += count;
    return sum;
  }
};

TEST_F(UnknownCode, IsLookedForBeforeAStackCountsAsBroken) {
  sample_at(reinterpret_cast<std::uint64_t>(&::getpid), 2'000'000'000);
  sample_at(reinterpret_cast<std::uint64_t>(&::getpid), 2'000'000'001);
  EXPECT_EQ(broken(), 0U);
}

TEST_F(UnknownCode, EndsWhatIsTakenFromTheKernelsWalk) {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto code = reinterpret_cast<std::uint64_t>(page) + 64;
  const std::uint64_t whole[] = {code, code + 8, code + 16};
  sample_at(code, 2'000'000'000, whole);
  EXPECT_EQ(broken(), 0U);
  const std::uint64_t astray[] = {code, code + 8, 0x1000, 0x1000, 0x1000};
  sample_at(code, 2'000'000'001, astray);
  EXPECT_EQ(broken(), 1U);
  ::munmap(page, 4096);
}

TEST_F(UnknownCode, IsNamedOnceWhileItIsRecordedAndNotAgainAtTheEnd) {
  const auto pc = reinterpret_cast<std::uint64_t>(&::getpid);
  const auto symbols = [this] {
    EXPECT_TRUE(writer_.flush());
    nettrace::Reader reader;
    std::size_t count = 0;
    EXPECT_TRUE(reader.feed(trace_, [&](const nettrace::Batch& batch) {
      for (const auto& event : batch.events) count += event.type->name == "ProcessSymbol" ? 1 : 0;
    }));
    return count;
  };
  sample_at(pc, 2'000'000'000);
  const auto all = events_.write_some_names(at(2'100'000'000), std::chrono::seconds{60});
  ASSERT_TRUE(all);
  EXPECT_TRUE(*all);
  EXPECT_EQ(symbols(), 1U);
  sample_at(pc, 2'200'000'000);
  sample_at(pc + 1, 2'300'000'000);  // another place in the same function
  EXPECT_TRUE(events_.write_names(at(9'000'000'000)));
  EXPECT_EQ(symbols(), 1U);
}

TEST_F(UnknownCode, IsNotLookedForTooOften) {
  constexpr std::uint64_t kNowhere = 0x1000;
  sample_at(kNowhere, 2'000'000'000);  // looks
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const auto code = reinterpret_cast<std::uint64_t>(page);
  sample_at(code, 2'000'000'001);
  EXPECT_EQ(broken(), 2U);
  sample_at(code, 4'000'000'000);
  sample_at(code, 4'000'000'001);
  EXPECT_EQ(broken(), 2U);
  ::munmap(page, 4096);
}

}  // namespace
}  // namespace clrscope::collect
