#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/io.h"
#include "base/test_data.h"
#include "base/zstd_block.h"
#include "store/sqlite/database.h"
#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

class CompactTest : public SqliteStoreTest {
 protected:
  std::int64_t query(std::string_view sql) {
    const auto database = Database::open(file(), Database::Mode::kRead).value();
    auto row = database->prepare(sql).value();
    EXPECT_TRUE(row.step().value());
    return row.integer(0);
  }
  std::int64_t chunks() { return query("SELECT count(*) FROM chunk"); }
  void change(const char* sql) {
    store_.reset();
    const auto done = Database::open(file(), Database::Mode::kWrite).value()->run(sql);
    EXPECT_TRUE(done) << done.error().what;
  }
  // A batch every ten seconds, from kBegin on.
  void add_minutes(std::uint64_t count, const TestBatch& like = {}) {
    for (std::uint64_t i = 0; i < 6 * count; ++i) {
      auto one = like;
      one.number = i;
      one.begin = kBegin + static_cast<std::int64_t>(i) * 10'000'000'000;
      EXPECT_EQ(add(one), Outcome::kStored);
    }
  }
  void compact(WallTime now = kNow + hours{2}) {
    const auto done = store_->compact(now);
    EXPECT_TRUE(done) << done.error().what;
  }
};

TEST_F(CompactTest, MergesAMinuteAndThenTenMinutes) {
  open();
  add_minutes(20);  // kBegin is the begin of a window of ten minutes
  EXPECT_EQ(chunks(), 120);
  compact(WallTime{nanoseconds{kBegin}} + minutes{12} + std::chrono::seconds{30});
  EXPECT_EQ(chunks(), 1 + 2 + 8 * 6);  // ten minutes, two minutes, and what has not settled
  compact();
  EXPECT_EQ(chunks(), 2);
  const auto services = store_->services({}).value();
  EXPECT_EQ(services[0].requests, 1200U);
  EXPECT_EQ(services[0].spans, 9600U);
  EXPECT_EQ(services[0].errors, 0U);
  for (std::uint64_t i = 0; i < 120; ++i) {
    const auto found = store_->find(test_trace(i, 7)).value();
    ASSERT_EQ(found.size(), 1U) << i;
    EXPECT_EQ(found[0].spans.size(), 8U);
    EXPECT_EQ(found[0].begin.time_since_epoch().count(),
              kBegin + static_cast<std::int64_t>(i) * 10'000'000'000 + 7'000'000);
  }
}

TEST_F(CompactTest, LeavesLargeChunksAloneAndAddsLateOnes) {
  open();
  for (std::uint64_t i = 0; i < 3; ++i) add({.number = i, .requests = 3'000, .spans = 20});
  compact();
  EXPECT_EQ(chunks(), 3);  // 60,000 spans each
  add({.number = 3});
  add({.number = 4});
  compact();
  EXPECT_EQ(chunks(), 4);
  EXPECT_EQ(store_->services({}).value()[0].requests, 9'020U);
}

TEST_F(CompactTest, GivesTheSameBandAndRequestsOfAChunkOfManyPages) {
  open();
  const auto like = [](std::uint64_t i) {
    return TestBatch{.number = i, .requests = 1'500, .spans = 20};
  };
  for (std::uint64_t i = 0; i < 3; ++i) add(like(i));
  const FlameQuery band{
      .selection = {.service = "shop"}, .from_percentile = 90, .to_percentile = 95};
  const auto before = store_->flame(band).value();
  compact();
  EXPECT_EQ(chunks(), 1);  // 90,000 spans
  const auto after = store_->flame(band).value();
  EXPECT_EQ(after.requests, before.requests);
  EXPECT_EQ(after.shortest, before.shortest);
  EXPECT_EQ(after.names, before.names);
  EXPECT_EQ(after.self_ns, before.self_ns);
  EXPECT_EQ(after.calls, before.calls);
  const auto made = make_batch(like(2));
  for (std::size_t r = 0; r < 1'500; r += 100) {
    const auto found = store_->find(test_trace(2, r)).value().at(0);
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(static_cast<std::uint64_t>(found.spans[i].self.count()),
                made.spans.self[r * 20 + i]);
      EXPECT_EQ(static_cast<std::uint64_t>(found.spans[i].begin.count()),
                made.spans.begin[r * 20 + i]);
    }
  }
}

TEST_F(CompactTest, ServicesOfARangeAreTheSameAfterwards) {
  open();
  add_minutes(20);
  const auto count = [&](std::int64_t from_s, std::int64_t to_s) {
    const auto found = store_
                           ->services({.from = kBegin + from_s * 1'000'000'000,
                                       .to = kBegin + to_s * 1'000'000'000})
                           .value();
    if (found.empty()) return std::string{"none"};
    return fmt::format("{} {} {} {} {}", found[0].requests, found[0].spans, found[0].errors,
                       found[0].first.time_since_epoch().count(),
                       found[0].last.time_since_epoch().count());
  };
  const std::vector<std::pair<std::int64_t, std::int64_t>> ranges{
      {0, 9},     {15, 25},   {100, 700},     {599, 600},
      {605, 609}, {0, 1'200}, {1'195, 3'000}, {5'000, 6'000}};
  std::vector<std::string> before;
  for (const auto& [from, to] : ranges) before.push_back(count(from, to));
  compact();
  for (std::size_t i = 0; i < ranges.size(); ++i)
    EXPECT_EQ(count(ranges[i].first, ranges[i].second), before[i]) << ranges[i].first;
}

TEST_F(CompactTest, ExpiresMergedChunksWithTheirTraces) {
  open({.age = hours{1}});
  add_minutes(20);
  compact();
  ASSERT_TRUE(store_->expire(kNow + hours{1} + minutes{9}));  // the first window only
  EXPECT_EQ(store_->services({}).value()[0].requests, 600U);
  EXPECT_EQ(query("SELECT count(*) FROM trace"), 600);
  EXPECT_TRUE(store_->find(test_trace(59, 0)).value().empty());
  EXPECT_EQ(store_->find(test_trace(60, 0)).value().size(), 1U);
  ASSERT_TRUE(store_->expire(kNow + hours{3}));
  EXPECT_EQ(query("SELECT count(*) FROM trace"), 0);
  EXPECT_EQ(chunks(), 0);
}

TEST_F(CompactTest, AnswersWholeBatchesWhileOthersAddAndMerge) {
  open();
  constexpr std::uint64_t kBatches = 60;
  std::atomic<bool> done = false;
  std::jthread adding{[&] {
    for (std::uint64_t i = 0; i < kBatches; ++i)
      add({.number = i, .begin = kBegin + static_cast<std::int64_t>(i) * 3'000'000'000});
    done = true;
  }};
  std::jthread merging{[&] {
    while (!done) compact();
  }};
  std::uint64_t before = 0;
  while (!done) {
    const auto flame = store_->flame({.selection = {.service = "shop"}}).value();
    EXPECT_EQ(flame.requests % 10, 0U);
    EXPECT_EQ(flame.spans, flame.requests * 8);
    EXPECT_GE(flame.requests, before);
    before = flame.requests;
    EXPECT_LE(store_->find(test_trace(7, 3)).value().size(), 1U);
  }
  adding.join();
  merging.join();
  EXPECT_EQ(store_->flame({.selection = {.service = "shop"}})->requests, 10 * kBatches);
}

TEST_F(CompactTest, LeavesADamagedChunkAsItIs) {
  open();
  add_minutes(1);
  change("UPDATE chunk SET rest = x'0011' WHERE t % 6 = 3");
  open();
  compact();
  EXPECT_EQ(chunks(), 2);
  EXPECT_EQ(store_->services({}).value()[0].requests, 60U);
  EXPECT_EQ(store_->find(test_trace(2, 0)).value().size(), 1U);
  EXPECT_FALSE(store_->find(test_trace(3, 0)));
}

TEST_F(CompactTest, LosesAndDoublesNothingWhenKilledAtAnyInstant) {
#ifdef __SANITIZE_THREAD__
  constexpr std::uint64_t kRounds = 2;  // a process that forks is slow there
#else
  constexpr std::uint64_t kRounds = 12;
#endif
  constexpr std::uint64_t kRequests = 30;
  std::mt19937 random{22};
  std::uint64_t stored = 0;  // batches that were acknowledged
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = open_store(where(), {});
      for (auto i = stored; store; ++i) {
        const auto begin = kBegin + static_cast<std::int64_t>(i) * 1'700'000'000;
        const auto batch = make_batch({.number = i, .requests = kRequests, .begin = begin});
        if (!(*store)->add(std::vector{batch}, kNow)) break;
        if (::write(ready[1], &i, sizeof i) != sizeof i) break;
        // All settled every time: merged again and again.
        if (!(*store)->compact(kNow + hours{2})) break;
      }
      ::_exit(1);
    }
    ::close(ready[1]);
    auto last = stored;
    const auto enough = stored + 3 + random() % 5;
    while (last < enough) ASSERT_EQ(::read(ready[0], &last, sizeof last), 8);
    ::usleep(static_cast<useconds_t>(random() % 8'000));  // any instant
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ready[0], &last, sizeof last) == 8) {
    }
    ::close(ready[0]);

    open();
    const auto requests = store_->services({}).value()[0].requests;
    EXPECT_EQ(requests % kRequests, 0U);
    EXPECT_GE(requests, (last + 1) * kRequests);
    EXPECT_LE(requests, (last + 2) * kRequests);  // one may be committed and not acknowledged
    stored = requests / kRequests;
    const auto flame = store_->flame({.selection = {.service = "shop"}}).value();
    EXPECT_EQ(flame.requests, requests);
    EXPECT_EQ(flame.spans, requests * 8);
    for (std::uint64_t i = 0; i < stored; ++i)
      EXPECT_EQ(store_->find(test_trace(i, kRequests - 1)).value().size(), 1U) << i;
    store_.reset();
  }
  open();
  compact();
  EXPECT_EQ(store_->services({}).value()[0].requests, stored * kRequests);
}

// tests/data/fleet/schema1.db.zst is a store of the version before: three transactions of the
// batches below, one with steps and a self time of more than 32 bits.
class OldStoreTest : public CompactTest {
 protected:
  OldStoreTest() {
    const auto packed = read_file(test_data("fleet/schema1.db.zst"), 1 << 20).value();
    const auto plain = read_zstd_block(as_bytes(packed), 1 << 24).value();
    std::ofstream{file(), std::ios::binary} << plain;
  }
  static Batch batch(std::uint64_t number) {
    auto made = make_batch({.number = number,
                            .requests = 30,
                            .spans = 12,
                            .begin = kBegin + static_cast<std::int64_t>(number) * 4'000'000'000});
    if (number == 1) {
      made.spans.steps[25] = 2;
      made.spans.step_begin = {10, 500};
      made.spans.self[27] = (1ULL << 33) + 5;
    }
    return made;
  }
  void expect_all() {
    std::uint64_t self = 0;
    for (std::uint64_t number = 0; number < 3; ++number) {
      const auto made = batch(number);
      for (std::size_t r = 0; r < 30; ++r) {
        const auto found = store_->find(test_trace(number, r)).value();
        ASSERT_EQ(found.size(), 1U);
        ASSERT_EQ(found[0].spans.size(), 12U);
        for (std::size_t i = 0; i < 12; ++i) {
          const auto& span = found[0].spans[i];
          const auto at = r * 12 + i;
          EXPECT_EQ(span.method, made.names[made.spans.method[at] - 1]);
          EXPECT_EQ(static_cast<std::uint64_t>(span.begin.count()), made.spans.begin[at]);
          EXPECT_EQ(static_cast<std::uint64_t>(span.duration.count()), made.spans.duration[at]);
          EXPECT_EQ(static_cast<std::uint64_t>(span.self.count()), made.spans.self[at]);
          EXPECT_EQ(span.steps.size(), made.spans.steps[at]);
          self += made.spans.self[at];
        }
      }
    }
    const auto flame = store_->flame({.selection = {.service = "shop"}}).value();
    EXPECT_EQ(flame.requests, 90U);
    EXPECT_EQ(static_cast<std::uint64_t>(flame.total.count()), self);
  }
};

TEST_F(OldStoreTest, OpensAndKeepsAllThatItHeld) {
  open({.age = hours{24 * 365 * 50}});
  EXPECT_EQ(query("SELECT value FROM meta WHERE key = 'schema'"), 3);
  EXPECT_EQ(query("SELECT count(*) FROM sqlite_schema WHERE name = 'chunk_1'"), 0);
  expect_all();
  EXPECT_EQ(store_->add(std::vector{batch(1)}, kNow).value()[0].outcome, Outcome::kDuplicate);
  compact();
  EXPECT_EQ(chunks(), 1);
  expect_all();
}

TEST_F(OldStoreTest, GoesOnWithAnUpdateThatWasKilled) {
  open();
  // As if the process had ended after the first piece.
  change(
      "CREATE TABLE chunk_1(service INTEGER NOT NULL, t INTEGER NOT NULL, seq INTEGER NOT NULL, "
      "requests INTEGER NOT NULL, sampled INTEGER NOT NULL, errors INTEGER NOT NULL, spans INTEGER "
      "NOT NULL, head BLOB NOT NULL, stacks BLOB NOT NULL, rest BLOB NOT NULL, PRIMARY "
      "KEY(service, "
      "t, seq)) WITHOUT ROWID; INSERT INTO chunk_1 SELECT service, t, seq, requests, sampled, "
      "errors, spans, head, stacks, rest FROM chunk WHERE seq > 0; DELETE FROM chunk WHERE seq > "
      "0");
  open();
  EXPECT_EQ(query("SELECT count(*) FROM sqlite_schema WHERE name = 'chunk_1'"), 0);
  expect_all();
}

TEST_F(OldStoreTest, OfSchema2GetsColumnsForSamples) {
  open();
  change(
      "ALTER TABLE chunk DROP COLUMN samples; ALTER TABLE chunk DROP COLUMN cpu_sums; ALTER TABLE "
      "chunk DROP COLUMN cpu_stacks; ALTER TABLE chunk DROP COLUMN cpu_rest; ALTER TABLE source "
      "DROP COLUMN written_samples; ALTER TABLE source DROP COLUMN stored_samples; ALTER TABLE "
      "source DROP COLUMN lost_samples; UPDATE meta SET value = 2");
  open();
  EXPECT_EQ(query("SELECT value FROM meta WHERE key = 'schema'"), 3);
  expect_all();
  EXPECT_EQ(store_->hosts().value()[0].written_samples, 0U);
}

TEST_F(OldStoreTest, RefusesAStoreOfANewerVersion) {
  open();
  change("UPDATE meta SET value = 4 WHERE key = 'schema'");
  const auto opened = open_store(where(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace clrscope::store
