// Spans, steps and flows as the helper and instrumented methods cause them, without a runtime.
#include "agent/requests.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/probe_thread.h"
#include "agent/probes.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

struct Record {
  wire::RecordKind kind;
  std::vector<std::uint8_t> bytes;

  template <class Fixed>
  const Fixed& as() const {
    return *reinterpret_cast<const Fixed*>(bytes.data());
  }
};

// One table for the process, as in an app.
class RequestsTest : public ::testing::Test {
 protected:
  RequestsTest() {
    EXPECT_TRUE(probes().open());
    EXPECT_TRUE(table().open());
    if (!shared())
      shared() = static_cast<wire::Requests*>(map_memory(wire::kRequestsBytes, table().fd()));
    const HelperFunctions functions{.enter_step = 1, .fault = 2, .queued = 3};
    api.ready(&functions);
    for (auto& ring : shared()->rings) readers_.emplace_back(ring);
  }
  ~RequestsTest() override {
    api.flow(0, 0, 0);
    table().stop();
  }

  void start(std::uint32_t probability_ppm = 1'000'000, const std::string& key = {}) {
    auto& order = shared()->order;
    order = {.flags = wire::kSampleFixed,
             .probability_ppm = probability_ppm,
             .budget_ppm = 10'000,
             .floor_seconds = 0,
             .key_bytes = static_cast<std::uint32_t>(key.size()),
             .key = {}};
    std::memcpy(order.key, key.data(), key.size());
    ASSERT_TRUE(table().start());
  }

  BeginningRequest begin(std::uint8_t id, const std::string& key = {}) {
    BeginningRequest request{};
    request.trace_id[15] = id;
    std::memcpy(request.key, key.data(), key.size());
    request.key_bytes = static_cast<std::uint32_t>(key.size());
    if (api.begin(&request) != 0) api.flow(request.number, request.root, 0);
    return request;
  }

  void end(const BeginningRequest& request, const std::string& path = "/x") {
    if (request.number != 0) api.flow(0, 0, 0);
    alignas(8) std::uint8_t bytes[sizeof(wire::RequestEnd) + 256]{};
    auto& record = *reinterpret_cast<wire::RequestEnd*>(bytes);
    record.begin = request.begin;
    record.root = request.root;
    record.request = request.number;
    record.status = 200;
    record.path_bytes = static_cast<std::uint16_t>(path.size());
    std::memcpy(bytes + sizeof record, path.data(), path.size());
    api.end(bytes, static_cast<std::uint32_t>((sizeof record + path.size() + 7) & ~7U));
  }

  // The first step of an async method; what the helper does is done here.
  std::int64_t begin_step(std::int32_t id, std::uint64_t& saved, std::uint32_t request) {
    const auto start = request_enter_step(id, &saved, -1);
    if (start >= 0) return start;
    api.flow(request, api.span_of(-start), static_cast<std::uint32_t>(id) + 1);
    return -start;
  }

  std::vector<Record> drain() {
    std::vector<Record> out;
    for (auto& reader : readers_)
      reader.drain([&](const void* bytes, std::uint32_t size) {
        const auto* at = static_cast<const std::uint8_t*>(bytes);
        out.push_back({static_cast<const wire::RecordHeader*>(bytes)->kind, {at, at + size}});
      });
    return out;
  }
  std::vector<wire::SpanRecord> spans() {
    std::vector<wire::SpanRecord> out;
    for (const auto& record : drain())
      if (record.kind == wire::RecordKind::kSpan) out.push_back(record.as<wire::SpanRecord>());
    return out;
  }

  static ProbeTable& probes() {
    static ProbeTable table;
    return table;
  }
  static RequestTable& table() {
    static RequestTable table;
    return table;
  }
  static wire::Requests*& shared() {
    static wire::Requests* memory = nullptr;
    return memory;
  }
  const RequestsApi& api = requests_api();

 private:
  std::vector<wire::RingReader> readers_;
};

TEST_F(RequestsTest, RecordsBeginSpansAndEnd) {
  start();
  const auto request = begin(7);
  ASSERT_NE(request.number, 0U);
  std::uint64_t outer_saved = 0, inner_saved = 0;
  const auto outer = request_enter(3, &outer_saved);
  const auto inner = request_enter(4, &inner_saved);
  request_leave(4, inner, inner_saved);
  request_leave(3, outer, outer_saved);
  end(request, "/orders/17");
  const auto records = drain();
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].as<wire::RequestBegin>().trace_id[15], 7);
  const auto& child = records[1].as<wire::SpanRecord>();
  const auto& parent = records[2].as<wire::SpanRecord>();
  EXPECT_EQ(child.method, 4U);
  EXPECT_EQ(child.parent, parent.span);
  EXPECT_EQ(parent.parent, request.root);
  EXPECT_EQ(parent.request, request.number);
  EXPECT_LE(parent.header.time, child.header.time);
  EXPECT_GE(parent.end, child.end);
  EXPECT_EQ(child.header.thread, thread_id());
  EXPECT_EQ(records[3].kind, wire::RecordKind::kFlow);
  EXPECT_LE(records[3].as<wire::FlowRecord>().header.time, parent.header.time);
  EXPECT_GE(records[3].as<wire::FlowRecord>().end, parent.end);
  const auto* last = wire::parse_request_end(records[4].bytes.data(),
                                             static_cast<std::uint32_t>(records[4].bytes.size()));
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->path_bytes, 10U);
  EXPECT_EQ(shared()->header.in_flight.load(), 0U);
}

// Two ticks that are the same, and a thread that came to a processor whose counter is behind.
TEST_F(RequestsTest, TellsCallsApartWhateverTheCounterSays) {
  start();
  const auto request = begin(7);
  this_probe_thread()->last_start = (read_tsc() + (1ULL << 40)) & ~1ULL;
  std::uint64_t saved[3]{};
  const auto outer = request_enter(1, &saved[0]);
  const auto step = begin_step(2, saved[1], request.number);
  const auto inner = request_enter(3, &saved[2]);
  request_leave(3, inner, saved[2]);
  request_leave_step(2, step, saved[1], -2);
  request_leave(1, outer, saved[0]);
  end(request);
  this_probe_thread()->last_start = 0;
  const auto all = spans();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].parent, all[1].span);
  EXPECT_EQ(all[1].parent, all[2].span);
  EXPECT_EQ(all[2].parent, request.root);
  std::set<std::uint64_t> different{request.root};
  for (const auto& one : all) {
    different.insert(one.span);
    EXPECT_GE(one.end, one.header.time);
  }
  EXPECT_EQ(different.size(), 4U);
}

TEST_F(RequestsTest, MarksAPlainCallThatAnExceptionEndsAndKnowsTheOneItIsIn) {
  start();
  const auto request = begin(9);
  EXPECT_EQ(api.plain_span(), 0U);
  std::uint64_t outer_saved = 0, inner_saved = 0;
  const auto outer = request_enter(1, &outer_saved);
  const auto outer_span = api.plain_span();
  EXPECT_NE(outer_span, 0U);
  const auto inner = request_enter(2, &inner_saved);
  EXPECT_EQ(inner_saved, outer_span);
  request_leave_fault(2, inner, inner_saved);
  EXPECT_EQ(api.plain_span(), outer_span);
  request_leave(1, outer, outer_saved);
  EXPECT_EQ(api.plain_span(), 0U);
  end(request);
  EXPECT_EQ(api.plain_span(), 0U);
  std::vector<std::uint32_t> flags;
  for (const auto& record : drain())
    if (record.kind == wire::RecordKind::kSpan)
      flags.push_back(record.as<wire::SpanRecord>().flags);
  EXPECT_EQ(flags, (std::vector<std::uint32_t>{wire::kSpanFaulted, 0}));
}

TEST_F(RequestsTest, LeavesOutRequestsThatAreNotSampledButCountsThem) {
  start(0);
  const auto request = begin(1);
  EXPECT_EQ(request.number, 0U);
  std::uint64_t saved = 0;
  EXPECT_EQ(request_enter(1, &saved), 0);
  EXPECT_EQ(request_enter_step(1, &saved, -1), 0);
  end(request);
  const auto records = drain();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].as<wire::RequestEnd>().request, 0U);
  EXPECT_EQ(shared()->header.seen.load(), 1U);
  EXPECT_EQ(shared()->header.sampled.load(), 0U);
}

TEST_F(RequestsTest, ForcesByTheKeyOnly) {
  start(0, "secret");
  EXPECT_EQ(begin(1, "secreT").number, 0U);
  EXPECT_EQ(begin(1, "secret1").number, 0U);
  EXPECT_EQ(begin(1).number, 0U);
  const auto request = begin(1, "secret");
  EXPECT_NE(request.number, 0U);
  EXPECT_EQ(request.flags, wire::kRequestForced);
  end(request);
}

TEST_F(RequestsTest, ChainsTheStepsOfAnAsyncMethodOverThreads) {
  start();
  const auto request = begin(1);
  std::uint64_t saved = 0, child_saved = 0;
  const auto first = begin_step(5, saved, request.number);
  const auto span = api.span_of(first);
  const auto child = request_enter(6, &child_saved);  // a call inside
  request_leave(6, child, child_saved);
  request_leave_step(5, first, saved, 0);     // waits
  api.flow(request.number, request.root, 0);  // back in the caller
  std::uint64_t after_saved = 0;
  const auto after = request_enter(8, &after_saved);
  request_leave(8, after, after_saved);
  std::thread{[&] {
    api.flow(request.number, span, 6);
    std::uint64_t resumed_saved = 0;
    const auto resumed = request_enter_step(5, &resumed_saved, 0);
    ASSERT_GT(resumed, 0);
    const auto later = request_enter(6, &child_saved);
    request_leave(6, later, child_saved);
    api.fault(wire::kSpanFaulted);
    request_leave_step(5, resumed, resumed_saved, -2);
    api.flow(0, 0, 0);
  }}.join();
  end(request);
  const auto all = spans();
  ASSERT_EQ(all.size(), 5U);
  std::vector<wire::SpanRecord> steps, calls;
  for (const auto& one : all) ((one.flags & wire::kSpanAsync) != 0 ? steps : calls).push_back(one);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].span, span);
  EXPECT_EQ(steps[1].span, span);
  EXPECT_EQ(steps[0].parent, request.root);
  EXPECT_EQ(steps[0].flags, wire::kSpanAsync | wire::kSpanFirst | wire::kSpanSuspended);
  EXPECT_EQ(steps[1].flags, wire::kSpanAsync | wire::kSpanFaulted);
  EXPECT_NE(steps[0].header.thread, steps[1].header.thread);
  for (const auto& call : calls)
    EXPECT_EQ(call.parent, call.method == 8 ? request.root : span) << call.method;
}

TEST_F(RequestsTest, KeepsTheCallThatAnotherFlowInterrupted) {
  start();
  const auto request = begin(1);
  std::uint64_t outer_saved = 0, step_saved = 0, late_saved = 0;
  const auto outer = request_enter(1, &outer_saved);
  const auto step = begin_step(2, step_saved, request.number);
  request_leave_step(2, step, step_saved, -2);
  api.flow(request.number, request.root, 0);  // the runtime gives the caller its context back
  const auto late = request_enter(3, &late_saved);
  request_leave(3, late, late_saved);
  request_leave(1, outer, outer_saved);
  end(request);
  const auto all = spans();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].parent, all[2].span);  // the step
  EXPECT_EQ(all[1].parent, all[2].span);  // and the call behind it
  EXPECT_EQ(all[2].parent, request.root);
}

TEST_F(RequestsTest, ForgetsRequestsOfAnEarlierOrder) {
  start();
  const auto old = begin(1);
  start();
  api.flow(old.number, old.root, 0);
  std::uint64_t saved = 0;
  EXPECT_EQ(request_enter(1, &saved), 0);
  end(old);
  EXPECT_EQ(shared()->header.in_flight.load(), 0U);
}

TEST_F(RequestsTest, CountsARequestOfAnEarlierOrderInThatOneOnly) {
  for (const std::uint32_t share : {1'000'000U, 0U}) {  // sampled or not
    start(share);
    const auto before = begin(1);
    table().stop();
    EXPECT_EQ(shared()->header.seen.load(), 1U);
    EXPECT_EQ(shared()->header.ended.load(), 0U);
    const auto between = begin(2);
    start(share);
    (void)drain();
    end(before);
    end(between);
    const auto own = begin(3);
    end(own, "/own");
    std::uint64_t ends = 0;
    for (const auto& record : drain()) ends += record.kind == wire::RecordKind::kRequestEnd ? 1 : 0;
    EXPECT_EQ(ends, 1U);
    EXPECT_EQ(shared()->header.seen.load(), 1U);
    EXPECT_EQ(shared()->header.ended.load(), 1U);
  }
}

TEST_F(RequestsTest, HearsTheEndsOfThoseInFlightAndNoMoreThatBeginOnceItFinishes) {
  start();
  auto& header = shared()->header;
  const auto sampled = begin(1), other = begin(2);
  table().finish();
  // What begins at that moment may still be seen.
  for (const auto until = monotonic_ns() + 20'000'000; monotonic_ns() < until;) {
  }
  const auto late = begin(3);
  EXPECT_EQ(late.number, 0U);
  EXPECT_EQ(header.seen.load(), 2U);
  end(late);
  EXPECT_EQ(header.ended.load(), 0U);
  end(sampled);
  end(other);
  EXPECT_EQ(header.ended.load(), 2U);
  EXPECT_EQ(header.in_flight.load(), 0U);
  // The next order sees all again.
  start();
  EXPECT_NE(begin(4).number, 0U);
}

TEST_F(RequestsTest, TakesNoRecordThatDoesNotFitItsTexts) {
  start();
  alignas(8) std::uint8_t bytes[sizeof(wire::RequestEnd) + 8]{};
  reinterpret_cast<wire::RequestEnd*>(bytes)->route_bytes = 200;
  api.end(bytes, sizeof bytes);
  api.end(bytes, 8);
  EXPECT_TRUE(drain().empty());
}

TEST_F(RequestsTest, CountsWhatItDropsWhenNobodyReads) {
  start();
  const auto request = begin(1);
  constexpr std::uint64_t kCalls = 5000;  // more than a ring holds
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    std::uint64_t saved = 0;
    const auto at = request_enter(1, &saved);
    request_leave(1, at, saved);
  }
  table().tick(monotonic_ns());
  const auto written = spans().size();
  EXPECT_LT(written, kCalls);
  EXPECT_EQ(written + shared()->header.dropped_full.load(), kCalls);
  EXPECT_EQ(shared()->header.spans.load(), kCalls);
  end(request);
}

TEST_F(RequestsTest, KeepsTheGateOpenForWorkBehindARequest) {
  start();
  const auto& gate = *reinterpret_cast<const std::atomic<std::uint32_t>*>(request_gate_address());
  const auto now = monotonic_ns();
  const auto after = [&](std::uint64_t seconds) {
    table().tick(now + seconds * 1'000'000'000);
    return gate.load();
  };
  // An async method that nobody waits for.
  const auto first = begin(1);
  std::uint64_t saved = 0, resumed_saved = 0;
  const auto step = begin_step(5, saved, first.number);
  const auto span = api.span_of(step);
  request_leave_step(5, step, saved, 0);
  end(first);
  EXPECT_EQ(after(3), 1U);
  api.flow(first.number, span, 6);
  const auto resumed = request_enter_step(5, &resumed_saved, 0);
  ASSERT_GT(resumed, 0);
  request_leave_step(5, resumed, resumed_saved, -2);
  api.flow(0, 0, 0);
  EXPECT_EQ(after(3), 0U);

  // A thread that goes on, which is said.
  const auto second = begin(2);
  (void)drain();
  std::uint32_t worker = 0;
  std::thread{[&] {
    worker = thread_id();
    api.flow(second.number, second.root, 0);
    std::thread{[&] { end(second); }}.join();
    EXPECT_EQ(after(6), 1U);
    api.flow(0, 0, 0);
  }}.join();
  api.flow(0, 0, 0);  // of the thread that the request began on
  std::uint32_t said = 0;
  for (const auto& record : drain())
    if (const auto& flow = record.as<wire::FlowRecord>(); record.kind == wire::RecordKind::kFlow &&
                                                          flow.end == flow.header.time &&
                                                          flow.header.thread == worker) {
      ++said;
      EXPECT_EQ(flow.request, second.number);
    }
  EXPECT_EQ(said, 1U);
  EXPECT_EQ(after(6), 0U);

  // But not forever.
  const auto third = begin(3);
  const auto stuck = begin_step(5, saved, third.number);
  request_leave_step(5, stuck, saved, 0);
  end(third);
  EXPECT_EQ(after(9), 1U);
  EXPECT_EQ(after(60), 0U);
}

// Such as an endless loop that a request has started: later requests do not pay for it.
TEST_F(RequestsTest, ClosesTheGateAsUsualBesideWorkThatNeverEnds) {
  start();
  const auto& gate = *reinterpret_cast<const std::atomic<std::uint32_t>*>(request_gate_address());
  auto now = monotonic_ns();
  const auto after = [&](std::uint64_t ms) {
    table().tick(now += ms * 1'000'000);
    return gate.load();
  };
  // An async method that has waited for the first time; returns its span.
  std::uint64_t saved = 0;
  const auto leave_behind = [&](const BeginningRequest& request) {
    const auto step = begin_step(5, saved, request.number);
    const auto span = api.span_of(step);
    request_leave_step(5, step, saved, 0);
    return span;
  };
  const auto go_on = [&](const BeginningRequest& request, std::uint64_t span) {
    api.flow(request.number, span, 6);
    const auto step = request_enter_step(5, &saved, 0);
    request_leave_step(5, step, saved, -2);
    api.flow(0, 0, 0);
  };
  const auto first = begin(1);
  const auto endless = leave_behind(first);
  end(first);
  EXPECT_EQ(after(3'000), 1U);
  // Sampled requests go on to come, each with work that ends.
  for (int i = 0; i < 6; ++i) {
    const auto next = begin(2);
    const auto span = leave_behind(next);
    end(next);
    EXPECT_EQ(after(2'000), 1U);
    go_on(next, span);
  }
  EXPECT_EQ(after(1'000), 0U) << "while the endless one goes on";
  // Work behind a later one is waited for all the same.
  const auto later = begin(3);
  const auto span = leave_behind(later);
  end(later);
  EXPECT_EQ(after(3'000), 1U);
  go_on(later, span);
  EXPECT_EQ(after(1'000), 0U);
  go_on(first, endless);

  // A thread that goes on for long.
  const auto fourth = begin(4);
  std::thread{[&] {
    api.flow(fourth.number, fourth.root, 0);
    std::thread{[&] { end(fourth); }}.join();
    EXPECT_EQ(after(6'000), 1U);
    EXPECT_EQ(after(60'000), 0U);
    std::thread{[&] { end(begin(5)); }}.join();
    EXPECT_EQ(after(1'000), 0U);
    api.flow(0, 0, 0);
  }}.join();
  api.flow(0, 0, 0);
}

TEST_F(RequestsTest, CountsHooksThatAreAlwaysSlow) {
  const auto hearing = [&](std::uint64_t ns) {
    start(0);
    for (int i = 0; i < 1000; ++i) {
      for (const std::uint32_t which : {0U, 1U}) api.spent(which, ns);
      end(begin(1));
    }
    table().stop();
    return shared()->header.hearing_ns.load();
  };
  const auto slow = hearing(9'000), slower = hearing(50'000);
  EXPECT_GT(slow, 1000U * 2 * 9'000);
  EXPECT_GT(slower, 1000U * 2 * 9'000);
}

TEST_F(RequestsTest, CrossesNothingOnManyThreads) {
  start();
  constexpr int kThreads = 90, kRounds = 20;  // more than there are rings
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const auto request = begin(1);
        std::uint64_t saved = 0;
        const auto at = request_enter(2, &saved);
        if (at == 0 || saved != request.root) ++wrong;
        request_leave(2, at, saved);
        end(request);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  const auto& header = shared()->header;
  EXPECT_EQ(header.seen.load(), static_cast<std::uint64_t>(kThreads) * kRounds);
  EXPECT_EQ(header.in_flight.load(), 0U);
  std::uint64_t records = 0;
  for (const auto& record : drain()) {
    ++records;
    if (record.kind != wire::RecordKind::kSpan) continue;
    EXPECT_NE(record.as<wire::SpanRecord>().request, 0U);
  }
  // Begin, span, flow and end of each.
  EXPECT_EQ(records + header.dropped_busy.load() + header.dropped_full.load(),
            4ULL * kThreads * kRounds);
}

TEST_F(RequestsTest, ClosesTheGateWhenNoSampledRequestIsLeft) {
  start();
  const auto& gate = *reinterpret_cast<const std::atomic<std::uint32_t>*>(request_gate_address());
  EXPECT_EQ(gate.load(), 0U);
  const auto request = begin(1);
  EXPECT_EQ(gate.load(), 1U);
  table().tick(monotonic_ns() + 1'000'000'000);
  EXPECT_EQ(gate.load(), 1U);
  end(request);
  EXPECT_EQ(gate.load(), 1U);  // for work behind it
  table().tick(monotonic_ns() + 3'000'000'000);
  EXPECT_EQ(gate.load(), 0U);
}

}  // namespace
}  // namespace clrscope::agent
