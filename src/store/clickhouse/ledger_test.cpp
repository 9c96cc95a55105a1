#include "store/clickhouse/ledger.h"

#include <gtest/gtest.h>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/hash.h"

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
