#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <numeric>

#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

using std::chrono::hours;

std::uint64_t self_of(const Batch& batch) {
  return std::accumulate(batch.spans.self.begin(), batch.spans.self.end(), std::uint64_t{0});
}

TEST_F(SqliteStoreTest, StoresABatchThatIsSentAgainOnce) {
  auto& store = open();
  EXPECT_EQ(add({.number = 1}), Outcome::kStored);
  EXPECT_EQ(add({.number = 1}), Outcome::kDuplicate);
  open();  // the ledger is on disk
  EXPECT_EQ(add({.number = 1}), Outcome::kDuplicate);
  const auto services = store_->services({}).value();
  ASSERT_EQ(services.size(), 1U);
  EXPECT_EQ(services[0].requests, 10U);
  EXPECT_EQ(services[0].spans, 80U);
  EXPECT_EQ(store_->hosts().value()[0].duplicates, 2U);
  (void)store;
}

TEST_F(SqliteStoreTest, StoresABatchThatIsTwiceInOneTransactionOnce) {
  const auto done = open().add(std::vector{make_batch({}), make_batch({})}, kNow).value();
  EXPECT_EQ(done[0].outcome, Outcome::kStored);
  EXPECT_EQ(done[1].outcome, Outcome::kDuplicate);
}

TEST_F(SqliteStoreTest, CountsWhatWasWrittenAndNeverCame) {
  open();
  add({.number = 0});
  add({.number = 1});
  add({.number = 4});  // 2 and 3 were lost on the way
  const auto host = store_->hosts().value().at(0);
  EXPECT_EQ(host.written_requests, 50U);
  EXPECT_EQ(host.stored_requests, 30U);
  EXPECT_EQ(host.lost_requests, 20U);
  EXPECT_EQ(host.lost_spans, 160U);
  EXPECT_DOUBLE_EQ(host.sampling_percent, 50);
}

TEST_F(SqliteStoreTest, GivesBackARequestAsItWas) {
  open();
  auto batch = make_batch({.requests = 5, .spans = 20});
  batch.spans.kind[25] = 6;  // async, cancelled
  batch.spans.steps[25] = 2;
  batch.spans.step_begin = {10, 500};
  batch.spans.step_duration = {3, 1ULL << 40};
  batch.spans.step_thread = {7, 9};
  batch.requests[1].steps = 2;
  batch.spans.self[27] = (1ULL << 33) + 5;  // more than 32 bits
  ASSERT_TRUE(check_batch(batch));
  ASSERT_TRUE(store_->add(std::vector{batch}, kNow));
  open();
  for (std::size_t r = 0; r < 5; ++r) {
    const auto found = store_->find(test_trace(0, r)).value();
    ASSERT_EQ(found.size(), 1U);
    const auto& request = found[0];
    EXPECT_EQ(request.host, "web-1");
    EXPECT_EQ(request.route, fmt::format("/route/{}", r % 4));
    EXPECT_EQ(request.begin.time_since_epoch().count(), batch.requests[r].begin);
    EXPECT_EQ(static_cast<std::uint64_t>(request.duration.count()), batch.requests[r].duration);
    ASSERT_EQ(request.spans.size(), 20U);
    for (std::size_t i = 0; i < 20; ++i) {
      const auto& span = request.spans[i];
      const auto at = r * 20 + i;
      EXPECT_EQ(span.method, batch.names[batch.spans.method[at] - 1]);
      EXPECT_EQ(span.parent, batch.spans.parent[at]);
      EXPECT_EQ(static_cast<std::uint64_t>(span.begin.count()), batch.spans.begin[at]);
      EXPECT_EQ(static_cast<std::uint64_t>(span.duration.count()), batch.spans.duration[at]);
      EXPECT_EQ(static_cast<std::uint64_t>(span.self.count()), batch.spans.self[at]);
      EXPECT_EQ(span.thread, batch.spans.thread[at]);
      EXPECT_EQ(span.steps.size(), batch.spans.steps[at]);
    }
  }
  const auto async = store_->find(test_trace(0, 1)).value()[0].spans[5];
  EXPECT_TRUE(async.is_async);
  EXPECT_EQ(async.outcome, "cancelled");
  EXPECT_EQ(async.steps[1].duration.count(), 1LL << 40);
  EXPECT_EQ(async.steps[1].thread, 9U);
  EXPECT_TRUE(store_->find(TraceId{1}).value().empty());
}

TEST_F(SqliteStoreTest, FlameGraphHoldsTheSelfTimeOfAllSpans) {
  open();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const TestBatch one{.number = i,
                        .requests = 40,
                        .begin = kBegin + static_cast<std::int64_t>(i) * 7'000'000'000};
    sum += self_of(make_batch(one));
    add(one);
  }
  const auto flame = store_->flame({.selection = {.service = "shop"}}).value();
  EXPECT_EQ(flame.requests, 200U);
  EXPECT_EQ(std::accumulate(flame.self_ns.begin(), flame.self_ns.end(), std::uint64_t{0}), sum);
  EXPECT_EQ(static_cast<std::uint64_t>(flame.total.count()), sum);
  EXPECT_EQ(std::accumulate(flame.calls.begin(), flame.calls.end(), std::uint64_t{0}), 1600U);
  ASSERT_FALSE(flame.depth.empty());
  for (std::size_t i = 1; i < flame.depth.size(); ++i)
    EXPECT_LE(flame.depth[i], flame.depth[i - 1] + 1);

  // The routes share the requests.
  std::uint64_t by_route = 0;
  for (int i = 0; i < 4; ++i)
    by_route += static_cast<std::uint64_t>(
        store_->flame({.selection = {.service = "shop", .route = fmt::format("GET /route/{}", i)}})
            .value()
            .total.count());
  EXPECT_EQ(by_route, sum);
}

TEST_F(SqliteStoreTest, FlameGraphOfABandHoldsTheSlowestRequests) {
  open();
  add({.requests = 200});
  auto durations = std::vector<std::uint64_t>{};
  for (const auto& one : make_batch({.requests = 200}).requests) durations.push_back(one.duration);
  std::sort(durations.begin(), durations.end());
  const auto slow =
      store_->flame({.selection = {.service = "shop"}, .from_percentile = 95}).value();
  EXPECT_EQ(static_cast<std::uint64_t>(slow.shortest.count()), durations[189]);
  EXPECT_EQ(static_cast<std::uint64_t>(slow.longest.count()), durations[199]);
  EXPECT_EQ(slow.requests, 11U);
  EXPECT_FALSE(store_->flame({.selection = {.service = "shop"}, .from_percentile = 101}));
}

TEST_F(SqliteStoreTest, RoutesHaveExactPercentilesAndPointsOverTime) {
  open();
  add({.requests = 100, .step = 1'000'000'000, .routes = 1});  // 100 s
  std::vector<std::uint64_t> durations;
  for (const auto& one : make_batch({.requests = 100, .routes = 1}).requests)
    durations.push_back(one.duration);
  std::sort(durations.begin(), durations.end());
  const auto routes = store_->routes({.service = "shop"}, std::chrono::seconds{20}).value();
  ASSERT_EQ(routes.size(), 1U);
  EXPECT_EQ(routes[0].route, "GET /route/0");
  EXPECT_EQ(static_cast<std::uint64_t>(routes[0].latency.p50.count()), durations[49]);
  EXPECT_EQ(static_cast<std::uint64_t>(routes[0].latency.p99.count()), durations[98]);
  EXPECT_EQ(routes[0].latency.errors, 2U);
  ASSERT_EQ(routes[0].points.size(), 5U);
  for (const auto& point : routes[0].points) EXPECT_EQ(point.latency.requests, 20U);
}

TEST_F(SqliteStoreTest, SelectsByTimeHostVersionAndStatus) {
  open();
  add({.host = "a", .version = "1", .requests = 100});
  add({.host = "b", .version = "2", .requests = 50});
  const auto count = [&](Selection selection) {
    selection.service = "shop";
    std::uint64_t sum = 0;
    const auto routes = store_->routes(selection, {});
    for (const auto& route : *routes) sum += route.latency.requests;
    return sum;
  };
  EXPECT_EQ(count({}), 150U);
  EXPECT_EQ(count({.host = "a"}), 100U);
  EXPECT_EQ(count({.version = "2"}), 50U);
  EXPECT_EQ(count({.host = "a", .version = "2"}), 0U);
  EXPECT_EQ(count({.status_from = 500, .status_to = 599}), 3U);
  EXPECT_EQ(count({.range = {kBegin + 10'000'000, kBegin + 20'000'000}}), 20U);
  EXPECT_EQ(count({.route = "/route/1"}), 38U);
  EXPECT_EQ(count({.route = "POST /route/1"}), 0U);
}

TEST_F(SqliteStoreTest, CorrectsTheClockOfAHostThatIsHoursOff) {
  open();
  auto batch = make_batch({.begin = kBegin - 5 * 3'600'000'000'000});
  batch.skew = 5 * 3'600'000'000'000;
  ASSERT_EQ(store_->add(std::vector{batch}, kNow).value()[0].outcome, Outcome::kStored);
  const auto found = store_->find(test_trace(0, 0)).value();
  EXPECT_EQ(found.at(0).begin.time_since_epoch().count(), kBegin);
  EXPECT_EQ(store_->hosts().value()[0].skew, hours{5});
}

TEST_F(SqliteStoreTest, RefusesAndCountsWhatIsOlderThanTheRetention) {
  open({.age = hours{1}});
  EXPECT_EQ(add({.number = 0}), Outcome::kStored);
  EXPECT_EQ(add({.number = 1, .begin = kBegin - 2 * 3'600'000'000'000}), Outcome::kRefused);
  const auto host = store_->hosts().value()[0];
  EXPECT_EQ(host.stored_requests, 10U);
  EXPECT_EQ(host.lost_requests, 10U);
}

TEST_F(SqliteStoreTest, DeletesWhatIsPastItsRetention) {
  open({.age = hours{1}});
  add({.number = 0});
  const auto later = kNow + hours{2};
  EXPECT_EQ(add({.number = 1, .begin = later.time_since_epoch().count()}, later), Outcome::kStored);
  ASSERT_TRUE(store_->expire(later));
  EXPECT_EQ(store_->services({}).value()[0].requests, 10U);
  EXPECT_TRUE(store_->find(test_trace(0, 0)).value().empty());
  EXPECT_EQ(store_->find(test_trace(1, 0)).value().size(), 1U);
}

TEST_F(SqliteStoreTest, DeletesTheOldestWhenItIsTooLarge) {
  open({.age = hours{24 * 365}, .max_bytes = 2'000'000});
  WallTime now = kNow;
  for (std::uint64_t i = 0; i < 20; ++i, now += hours{2})
    add({.number = i, .requests = 500, .spans = 40, .begin = now.time_since_epoch().count()}, now);
  ASSERT_TRUE(store_->expire(now));
  EXPECT_TRUE(store_->find(test_trace(0, 0)).value().empty());
  EXPECT_EQ(store_->find(test_trace(19, 0)).value().size(), 1U);
}

TEST_F(SqliteStoreTest, StoresNothingOfATransactionThatMeetsAFullDisk) {
  open();
  add({.number = 0});
  const auto before = std::filesystem::file_size(file() + "-wal");
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{before + 4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto failed =
      store_->add(std::vector{make_batch({.number = 1, .requests = 1000, .spans = 50})}, kNow);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_FALSE(failed);
  // The same batch again, and it is whole, with its names.
  EXPECT_EQ(add({.number = 1, .requests = 1000, .spans = 50}), Outcome::kStored);
  open();
  EXPECT_EQ(store_->services({}).value()[0].requests, 1010U);
  EXPECT_FALSE(store_->find(test_trace(1, 999)).value().at(0).spans[49].method.empty());
}

TEST_F(SqliteStoreTest, HoldsEveryAcknowledgedBatchAfterKill) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = open_store(where(), {});
    for (std::uint64_t i = 0; store; ++i)
      if ((*store)->add(std::vector{make_batch({.number = i, .requests = 50})}, kNow))
        if (::write(ready[1], &i, sizeof i) != sizeof i) ::_exit(1);
    ::_exit(1);
  }
  ::close(ready[1]);
  std::uint64_t last = 0;
  while (last < 20) ASSERT_EQ(::read(ready[0], &last, sizeof last), 8);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  while (::read(ready[0], &last, sizeof last) == 8) {
  }
  ::close(ready[0]);
  open();
  const auto stored = store_->services({}).value()[0].requests;
  EXPECT_GE(stored, (last + 1) * 50);  // one more may have been committed and not told
  EXPECT_LE(stored, (last + 2) * 50);
  EXPECT_EQ(store_->hosts().value()[0].lost_requests, 0U);
  for (std::uint64_t i = 0; i <= last; ++i)
    EXPECT_EQ(add({.number = i, .requests = 50}), Outcome::kDuplicate);
}

TEST_F(SqliteStoreTest, BelongsToOneServerAtATime) {
  open();
  const auto second = open_store(where(), {});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, testing::HasSubstr("in use by another server"));
}

TEST(CheckBatch, RefusesPositionsOutsideTheirTables) {
  const auto good = make_batch({});
  ASSERT_TRUE(check_batch(good));
  const auto refused = [&](auto change) {
    auto bad = good;
    change(bad);
    return !check_batch(bad);
  };
  EXPECT_TRUE(refused([](Batch& b) { b.spans.method[3] = 100'000; }));
  EXPECT_TRUE(refused([](Batch& b) { b.spans.method[3] = 0; }));
  EXPECT_TRUE(refused([](Batch& b) { b.spans.parent[3] = 4; }));
  EXPECT_TRUE(refused([](Batch& b) { b.spans.parent[8] = 1; }));  // of the request before
  EXPECT_TRUE(refused([](Batch& b) { b.spans.self.pop_back(); }));
  EXPECT_TRUE(refused([](Batch& b) { b.spans.steps[0] = 4'000'000'000; }));
  EXPECT_TRUE(refused([](Batch& b) { b.spans.begin[0] = ~0ULL; }));
  EXPECT_TRUE(refused([](Batch& b) { b.requests[0].spans = 7; }));
  EXPECT_TRUE(refused([](Batch& b) { b.requests[0].route = 1'000; }));
  EXPECT_TRUE(refused([](Batch& b) { b.requests[0].begin = -1; }));
  EXPECT_TRUE(refused([](Batch& b) { b.id = "short"; }));
  EXPECT_TRUE(refused([](Batch& b) { b.source.host.clear(); }));
  EXPECT_TRUE(refused([](Batch& b) { b.source.instance = "7"; }));
  EXPECT_TRUE(refused([](Batch& b) { b.names[0] = std::string(5000, 'x'); }));
}

}  // namespace
}  // namespace clrscope::store
