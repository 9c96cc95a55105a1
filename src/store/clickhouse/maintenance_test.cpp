#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/clickhouse/clickhouse_store.h"
#include "store/testing/fake_clickhouse.h"

namespace clrscope::store {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kDaySeconds = 86'400;

Result<ClickhouseSchema> migrate(const FakeClickhouse& server) {
  return migrate_schema(parse_clickhouse(server.url()).value());
}
ClickhouseSchema schema_of(const FakeClickhouse& server) {
  return read_schema(*parse_clickhouse(server.url()).value().front()).value();
}

// Version 2 has no roll-ups: those of a later version lack all that was stored before.
TEST(ClickhouseMigration, NeverMakesRollUpsCompleteWhereverItIsInterrupted) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  for (std::size_t cut = 1;; ++cut) {
    FakeClickhouse server;
    server.change([&](FakeClickhouse::State& state) {
      state.versions = {2};
      state.fails_from = cut;
    });
    const bool whole = migrate(server).has_value();
    server.change([](FakeClickhouse::State& state) { state.fails_from = ~std::size_t{0}; });
    const auto schema = schema_of(server);
    if (schema.version == kClickhouseSchema) {
      EXPECT_GE(schema.rolled_since, now) << "after " << cut - 1 << " statements";
      EXPECT_GE(schema.flames_since, now) << "after " << cut - 1 << " statements";
    }
    EXPECT_EQ(whole, schema.version == kClickhouseSchema);
    const auto again = migrate(server);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_GE(schema_of(server).rolled_since, now) << "after " << cut - 1 << " statements";
    EXPECT_GE(schema_of(server).flames_since, now) << "after " << cut - 1 << " statements";
    if (whole) break;
    ASSERT_LT(cut, 200U);
  }
}

TEST(ClickhouseMigration, MustHaveReachedAllServersBeforeAStoreIsOpened) {
  FakeClickhouse done, behind;
  ASSERT_TRUE(migrate(done));
  behind.change([](FakeClickhouse::State& state) { state.versions = {2}; });
  for (const auto& urls : {done.url() + "," + behind.url(), behind.url() + "," + done.url()}) {
    const auto opened = ClickhouseStore::open(urls, {}, {});
    ASSERT_FALSE(opened) << urls;
    EXPECT_THAT(opened.error().what, HasSubstr("tables of version 2"));
  }
  EXPECT_TRUE(ClickhouseStore::open(done.url(), {}, {}));
}

TEST(ClickhouseMigration, MakesViewsOfViewsAsTheServerRunsThem) {
  FakeClickhouse server;
  const auto view = [&] { return server.state().created["flame_feed_to_flame_5m"]; };
  ASSERT_TRUE(migrate(server));
  EXPECT_THAT(view(), HasSubstr("FROM clrscope.request_to_flame_feed ARRAY JOIN"));
  EXPECT_EQ(schema_of(server).flames_since, 0);
  EXPECT_FALSE(server.state().created.contains("cascade_out"));
}

// The server was replaced by one of a later version: its views got nothing since then.
TEST(ClickhouseMigration, NeverMakesRollUpsCompleteThatGotNothingFromANewServer) {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(wall_now().time_since_epoch()).count();
  for (std::size_t cut = 1;; ++cut) {
    FakeClickhouse server;
    ASSERT_TRUE(migrate(server));
    server.change([&](FakeClickhouse::State& state) {
      state.from_table = true;
      state.changes = 0;
      state.fails_from = cut;
    });
    const bool whole = migrate(server).has_value();
    server.change([](FakeClickhouse::State& state) { state.fails_from = ~std::size_t{0}; });
    if (!whole) {
      ASSERT_TRUE(migrate(server));
    }
    EXPECT_THAT(server.state().created["flame_feed_to_flame_5m"],
                HasSubstr("FROM clrscope.flame_feed ARRAY JOIN"));
    EXPECT_THAT(server.state().created["flame_5m_to_flame_1h"],
                HasSubstr("FROM clrscope.flame_5m GROUP BY"));
    EXPECT_GE(schema_of(server).flames_since, now) << "after " << cut - 1 << " statements";
    if (whole) break;
    ASSERT_LT(cut, 200U);
  }
}

class ClickhouseRetention : public testing::Test {
 protected:
  ClickhouseRetention() { EXPECT_TRUE(migrate(server_)); }
  // Kept: 7 days, of which today is the tenth.
  std::vector<std::int64_t> kept(std::vector<FakeClickhouse::Part> parts, std::uint64_t max_bytes) {
    server_.change([&](FakeClickhouse::State& state) { state.parts = std::move(parts); });
    const auto store = ClickhouseStore::open(server_.url(), {.max_bytes = max_bytes}, {}).value();
    const auto done = store->expire(WallTime{std::chrono::seconds{10 * kDaySeconds}});
    EXPECT_TRUE(done) << done.error().what;
    std::vector<std::int64_t> days;
    for (const auto& part : server_.state().parts) days.push_back(part.partition);
    return days;
  }
  FakeClickhouse server_;
};

TEST_F(ClickhouseRetention, OfASizeDeletesSpansOfOtherTracersToo) {
  EXPECT_THAT(kept({{"otlp_span", 7, 100}, {"otlp_span", 8, 100}, {"otlp_span", 9, 100}}, 250),
              testing::ElementsAre(8, 9));
  EXPECT_THAT(kept({{"otlp_span", 7, 100}, {"request", 8, 100}, {"otlp_span", 9, 100}}, 150),
              testing::ElementsAre(9));
}

TEST_F(ClickhouseRetention, GoesOnWithoutAServerThatIsAway) {
  std::string away;
  {
    const FakeClickhouse server;
    away = server.url();
  }
  server_.change([&](FakeClickhouse::State& state) {
    state.parts = {{"request", 1, 100}, {"request", 8, 100}, {"request", 9, 100}};
  });
  for (const auto& urls : {away + "," + server_.url(), server_.url() + "," + away}) {
    const auto store = ClickhouseStore::open(urls, {.max_bytes = 150}, {}).value();
    const auto done = store->expire(WallTime{std::chrono::seconds{10 * kDaySeconds}});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().what, HasSubstr(away.substr(away.rfind('/') + 1)));
    ASSERT_EQ(server_.state().parts.size(), 1U) << urls;  // of its age, and of its size
    EXPECT_EQ(server_.state().parts[0].partition, 9);
  }
}

TEST_F(ClickhouseRetention, OfASizeDeletesNoRequestsForTablesThatItCannotShrink) {
  server_.change([](FakeClickhouse::State& state) {
    state.parts = {{"path", 0, 900}, {"request", 8, 100}, {"request", 9, 100}, {"request", 10, 50}};
  });
  const auto store = ClickhouseStore::open(server_.url(), {.max_bytes = 200}, {}).value();
  const auto done = store->expire(WallTime{std::chrono::seconds{10 * kDaySeconds}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("900 B of call paths, processes and ledger"));
  EXPECT_THAT(server_.state().parts, testing::SizeIs(3));  // all but day 8
}

TEST_F(ClickhouseRetention, OfASizeNeverDeletesToday) {
  server_.change([](FakeClickhouse::State& state) {
    state.parts = {{"request", 9, 100}, {"request", 10, 300}, {"otlp_span", 11, 1}};
  });
  const auto store = ClickhouseStore::open(server_.url(), {.max_bytes = 200}, {}).value();
  const auto done = store->expire(WallTime{std::chrono::seconds{10 * kDaySeconds}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("today's requests take 301 B"));
  ASSERT_EQ(server_.state().parts.size(), 2U);
  EXPECT_EQ(server_.state().parts[0].partition, 10);
}

// It lacks what the other one stored meanwhile.
TEST(ClickhouseProcesses, AreNotDeletedForAReplicaThatWasAway) {
  FakeClickhouse current, behind;
  const auto day = [](std::int64_t number) { return number * kDaySeconds * 1'000'000'000; };
  ASSERT_TRUE(migrate(current));
  ASSERT_TRUE(migrate(behind));
  current.change([&](FakeClickhouse::State& state) {
    state.sources = {{.received = day(1)}, {.received = day(9)}, {.host = "old", .received = 0}};
  });
  behind.change([&](FakeClickhouse::State& state) {
    state.sources = {{.received = day(1)}, {.host = "old", .received = 0}};
  });
  for (const auto& urls :
       {current.url() + "," + behind.url(), behind.url() + "," + current.url()}) {
    const auto store = ClickhouseStore::open(urls, {}, {}).value();
    const auto done = store->expire(WallTime{std::chrono::seconds{10 * kDaySeconds}});
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ(current.state().sources.size(), 2U) << urls;
    EXPECT_EQ(behind.state().sources.size(), 1U) << urls;
  }
}

TEST_F(ClickhouseRetention, DeletesWhatProcessesSaidLongAgo) {
  EXPECT_THAT(server_.state().created["agent"], HasSubstr("PARTITION BY intDiv(time, 864"));
  EXPECT_THAT(kept({{"agent", 1, 1}, {"agent", 9, 1}}, ~std::uint64_t{0}), testing::ElementsAre(9));
}

}  // namespace
}  // namespace clrscope::store
