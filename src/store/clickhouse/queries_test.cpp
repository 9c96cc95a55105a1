#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "store/cancel.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/testing/fake_clickhouse.h"

namespace clrscope::store {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class ClickhouseQueries : public testing::Test {
 protected:
  ClickhouseQueries() { EXPECT_TRUE(migrate_schema(parse_clickhouse(server_.url()).value())); }
  void on_query(std::function<bool(std::string_view sql, ByteWriter& out)> answer) {
    server_.change([&](FakeClickhouse::State& state) { state.answer = std::move(answer); });
  }
  std::unique_ptr<ClickhouseStore> open() {
    return ClickhouseStore::open(server_.url(), {}, {}).value();
  }
  FakeClickhouse server_;
};

// Stored before batches had a limit: every caller costs a query.
TEST_F(ClickhouseQueries, OfCallPathsEndAtTheDeepestStack) {
  constexpr std::uint64_t kDepth = 3 * kDeepestStack;
  std::size_t asked = 0;
  on_query([&](std::string_view sql, ByteWriter& out) {
    if (sql.starts_with("SELECT count(), sum(toUInt64(spans))")) {
      for (const std::uint64_t value : {1, 1, 5, 5}) out.write(value);
    } else if (sql.starts_with("SELECT item, sum(own), count()")) {
      for (const std::uint64_t value : {kDepth, std::uint64_t{5}, std::uint64_t{1}})
        out.write(value);
      out.write(kRowEnd);
    } else if (sql.starts_with("SELECT path, parent, method")) {
      ++asked;
      const auto list = sql.substr(sql.find('(') + 1);
      const auto path = parse_number(list.substr(0, list.find(')'))).value();
      out.write(path);
      out.write(path - 1);
      write_text(out, "Recurse");
    } else {
      return false;
    }
    return true;
  });
  const auto flame = open()->flame({.selection = {.service = "shop"}});
  ASSERT_TRUE(flame) << flame.error().what;
  EXPECT_EQ(asked, kDeepestStack);
  EXPECT_EQ(flame->depth.size(), kDeepestStack + 1);
  EXPECT_EQ(flame->total, std::chrono::nanoseconds{5});
}

// Of a store with very many processes, an answer with all of them would be too large.
TEST_F(ClickhouseQueries, OfHostsSelectTheRangeInTheEngine) {
  std::vector<std::string> asked;
  on_query([&](std::string_view sql, ByteWriter&) {
    if (sql.find("FROM source ") != std::string_view::npos) asked.emplace_back(sql);
    return false;
  });
  const auto store = open();
  ASSERT_TRUE(store->hosts({.from = 5, .to = 7}));
  ASSERT_TRUE(store->senders({.from = 5, .to = 7}));
  ASSERT_EQ(asked.size(), 2U);
  for (const auto& sql : asked)
    EXPECT_THAT(sql, HasSubstr("HAVING sum(batches) > 0 AND max(received) >= 5 AND "
                               "minIf(received, batches = 1) < 7"));
  EXPECT_THAT(asked[1], testing::StartsWith("SELECT DISTINCT service, named, host FROM"));
}

TEST_F(ClickhouseQueries, AreCancelledOnlyIfTheyReadUnlessTheServerEnds) {
  std::stop_source stop;
  stop.request_stop();
  const auto node = std::move(parse_clickhouse(server_.url()).value().front());
  {
    const CancelScope query{stop.get_token()};
    EXPECT_FALSE(node->select("SELECT 1"));
    EXPECT_TRUE(node->run("SELECT 1"));
    const CancelScope end{stop.get_token(), CancelScope::What::kAll};
    EXPECT_FALSE(node->run("SELECT 1"));
  }
  EXPECT_TRUE(node->select("SELECT 1"));
}

// ClickHouse was replaced by a later version, whose views of call paths get nothing.
class ClickhouseUpgrade : public ClickhouseQueries {
 protected:
  ClickhouseUpgrade() {
    on_query([this](std::string_view sql, ByteWriter& out) {
      if (sql.starts_with("SELECT epoch, max(seq) FROM ledger_commit")) {
        out.write(std::uint64_t{7});
        out.write(std::uint32_t{1});
        return true;
      }
      if (sql.starts_with("SELECT count(), sum(toUInt64(spans))")) {
        for (int i = 0; i < 4; ++i) out.write(std::uint64_t{0});
        return true;
      }
      rolled_ = rolled_ || sql.find("FROM flame_5m") != std::string_view::npos;
      return false;
    });
  }
  void replace_server() {
    server_.change([](FakeClickhouse::State& state) {
      state.engine = "26.5.1";
      state.from_table = true;
    });
  }
  // Whether a flame graph of the hours after that time is answered from roll-ups.
  bool rolls_up(Store& store, WallTime from) {
    const auto begin = from.time_since_epoch();
    server_.change([this](auto&) { rolled_ = false; });
    EXPECT_TRUE(
        store.flame({.selection = {.range = {.from = begin.count(), .to = (begin + 5h).count()},
                                   .service = "shop"}}));
    bool rolled = false;
    server_.change([&](auto&) { rolled = rolled_; });
    return rolled;
  }
  const WallTime now_ = wall_now();

 private:
  bool rolled_ = false;
};

TEST_F(ClickhouseUpgrade, OfARunningServerIsNoticedWithoutARestart) {
  const auto store = open();
  EXPECT_TRUE(rolls_up(*store, now_));
  replace_server();
  ASSERT_TRUE(store->expire(now_));
  EXPECT_FALSE(rolls_up(*store, now_));
  EXPECT_FALSE(rolls_up(*store, now_ + 48h));
}

TEST_F(ClickhouseUpgrade, IsNoticedWhenTheStoreIsOpened) {
  replace_server();
  EXPECT_FALSE(rolls_up(*open(), now_ + 48h));
}

TEST_F(ClickhouseUpgrade, LetsRunningServersUseRollUpsAfterTheMigration) {
  const auto store = open();
  replace_server();
  ASSERT_TRUE(store->expire(now_));
  ASSERT_TRUE(migrate_schema(parse_clickhouse(server_.url()).value()));
  ASSERT_TRUE(store->expire(now_));
  EXPECT_FALSE(rolls_up(*store, now_));
  EXPECT_TRUE(rolls_up(*store, now_ + 48h));
}

// Somebody else may have migrated before this server looked.
TEST_F(ClickhouseUpgrade, IsNoticedAfterTheMigrationToo) {
  const auto store = open();
  replace_server();
  ASSERT_TRUE(migrate_schema(parse_clickhouse(server_.url()).value()));
  ASSERT_TRUE(store->expire(now_));
  EXPECT_FALSE(rolls_up(*store, now_));
  EXPECT_TRUE(rolls_up(*store, now_ + 48h));
}

TEST_F(ClickhouseUpgrade, OfTablesThatDoNotSayTheirEngineNeedsAMigration) {
  server_.change([](FakeClickhouse::State& state) {
    state.versions = {5};
    state.engines.clear();
  });
  const auto opened = ClickhouseStore::open(server_.url(), {}, {});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("tables of version 5"));
  ASSERT_TRUE(migrate_schema(parse_clickhouse(server_.url()).value()));
  EXPECT_TRUE(rolls_up(*open(), now_));
}

}  // namespace
}  // namespace clrscope::store
