#include "store/clickhouse/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/hash.h"
#include "store/clickhouse/rollup.h"
#include "store/testing/fake_clickhouse.h"

namespace clrscope::store {
namespace {

TEST(LedgerView, CountsGroupsUpToTheLastCommittedOfTheirEpoch) {
  const Ledger::View view{.committed = {{7, 3}, {9, 1}}};
  EXPECT_TRUE(view.has({7, 1}));
  EXPECT_TRUE(view.has({7, 3}));
  EXPECT_FALSE(view.has({7, 4}));
  EXPECT_FALSE(view.has({8, 1}));
  EXPECT_EQ(view.condition(), "seq <= transform(epoch, [7,9], [3,1], 0)");
}

// A replica that was behind when slots were listed may sum up rows of these epochs.
TEST(LedgerView, SumsUpNoRowOfARollUpThatHoldsABatchOfAnotherGroup) {
  EXPECT_EQ(is_unsettled({.committed = {{7, 3}}}),
            "finalizeAggregation(last) > transform(epoch, [7], [3], 0)");
  EXPECT_EQ(is_unsettled({.committed = {{7, 3}}, .losers = {{{7, 2}, 11}, {{7, 3}, 12}}}),
            "finalizeAggregation(last) > transform(epoch, [7], [3], 0) OR epoch IN (7)");
}

TEST(LedgerView, LeavesOutBatchesThatAnotherGroupHolds) {
  const Ledger::View view{.committed = {{7, 3}}, .losers = {{{7, 2}, 11}, {{7, 3}, 12}}};
  EXPECT_EQ(view.condition(),
            "seq <= transform(epoch, [7], [3], 0) AND (epoch, seq, batch) NOT IN "
            "((7,2,11),(7,3,12))");
}

TEST(LedgerView, SelectsNothingBeforeTheFirstCommit) { EXPECT_EQ(Ledger::View{}.condition(), "0"); }

TEST(Ledger, LiesOnAnOddNumberOfServers) {
  EXPECT_EQ(Ledger::size_for(1), 1U);
  EXPECT_EQ(Ledger::size_for(2), 1U);
  EXPECT_EQ(Ledger::size_for(4), 3U);
  EXPECT_EQ(Ledger::size_for(40), 5U);
}

class LedgerOfThree : public testing::Test {
 protected:
  LedgerOfThree() {
    for (const auto& server : servers_)
      nodes_.push_back(std::move(parse_clickhouse(server.url()).value().front()));
    ledger_.emplace(std::vector{nodes_[0].get(), nodes_[1].get(), nodes_[2].get()});
  }
  ~LedgerOfThree() override {
    for (auto& server : servers_) server.release();
  }
  // Returns when it has taken a question that it will not answer.
  void wait_until_asked(std::size_t at) const {
    while (servers_[at].held() == 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }

  FakeClickhouse servers_[3];
  ClickhouseNodes nodes_;
  std::optional<Ledger> ledger_;
};

TEST_F(LedgerOfThree, DoesNotWaitForAServerThatHangs) {
  for (std::size_t i = 0; i < 3; ++i) {
    servers_[i].hang();
    EXPECT_TRUE(ledger_->commit({7, 1}, WallTime{})) << i;
    EXPECT_TRUE(ledger_->committed()) << i;
    wait_until_asked(i);
    EXPECT_TRUE(servers_[i].is_waited_for()) << "it was given up before " << i;
    EXPECT_TRUE(ledger_->commit({7, 2}, WallTime{})) << i;
    EXPECT_TRUE(ledger_->committed()) << i;
    servers_[i].release();
  }
}

TEST_F(LedgerOfThree, FailsWithoutMostOfThem) {
  for (const std::size_t i : {1, 2})
    servers_[i].change([](FakeClickhouse::State& state) { state.fails_from = 0; });
  const auto written = ledger_->commit({7, 1}, WallTime{});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, testing::HasSubstr("too few of 3 servers took"));
  EXPECT_THAT(written.error().what, testing::HasSubstr("it ends here"));
  EXPECT_FALSE(ledger_->committed());
}

TEST(ClickhouseSql, QuotesWhatCouldEndAText) {
  EXPECT_EQ(quoted("it's \\ here"), "'it\\'s \\\\ here'");
  EXPECT_EQ(quoted(std::string_view{"a\0b", 3}), "'a\\0b'");
}

// They are stored: another number would be another method.
TEST(ClickhouseHash, NeverChanges) {
  EXPECT_EQ(hash_of("Shop.Orders.PlaceAsync"), hash_of("Shop.Orders.PlaceAsync"));
  EXPECT_NE(hash_of("ab"), hash_of("ba"));
  EXPECT_NE(path_of(path_of(0, 1), 2), path_of(path_of(0, 2), 1));
  EXPECT_EQ(hash_of("Shop.Orders.PlaceAsync"), 0x471b887a15358c6U);
  EXPECT_EQ(path_of(path_of(0, hash_of("a")), hash_of("b")), 0x1576deff1a7a422U);
}

TEST(ClickhouseUrls, TakeOneDatabaseForAllServers) {
  const auto nodes = parse_clickhouse("http://a:8123/?database=fleet_1,https://b");
  ASSERT_TRUE(nodes) << nodes.error().what;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->at(1)->database(), "fleet_1");
  EXPECT_EQ(nodes->at(1)->name(), "b:443");
  EXPECT_FALSE(parse_clickhouse("http://a/?database=x;DROP"));
  EXPECT_FALSE(parse_clickhouse("http://a/?user=x"));
  EXPECT_FALSE(parse_clickhouse("a:8123"));
}

TEST(RowBinary, FailsOnAnAnswerThatIsCutShort) {
  Rows rows{
      std::string{"\x05"
                  "ab",
                  3}};
  EXPECT_EQ(rows.text(), "");
  EXPECT_FALSE(rows.done());
  Rows array{std::string{"\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9}};  // of very many numbers
  EXPECT_TRUE(array.array<std::uint64_t>().empty());
  EXPECT_FALSE(array.done());
}

}  // namespace
}  // namespace clrscope::store
