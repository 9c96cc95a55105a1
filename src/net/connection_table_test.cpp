#include "net/connection_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace clrscope::net {
namespace {

class ConnectionTableTest : public testing::Test {
 protected:
  using Place = std::shared_ptr<ConnectionTable::Place>;

  Place enter(const std::string& address, int id) {
    return table_.enter(address, [this, id] { ended_.push_back(id); });
  }

  ConnectionTable table_{{.all = 6, .newcomers = 4, .newcomers_of_address = 3, .reserve = 1}};
  std::vector<int> ended_;
};

TEST_F(ConnectionTableTest, ANewcomerEndsTheQuietestOfItsAddress) {
  const auto one = enter("a", 1), two = enter("a", 2), three = enter("a", 3);
  one->work();
  const auto four = enter("a", 4);
  EXPECT_EQ(ended_, std::vector{2});
  EXPECT_EQ(table_.ended(), 1U);
}

TEST_F(ConnectionTableTest, ManyAddressesEndTheQuietestOfTheMostCrowded) {
  const auto b = enter("b", 10);
  const auto one = enter("a", 1), two = enter("a", 2), three = enter("a", 3);
  const auto c = enter("c", 20);
  EXPECT_EQ(ended_, std::vector{1});
}

TEST_F(ConnectionTableTest, KnownCallersAreNotCountedAsNewcomers) {
  const auto one = enter("a", 1), two = enter("a", 2), three = enter("a", 3);
  for (const auto& place : {one, two, three}) place->become_known();
  const auto four = enter("a", 4), five = enter("a", 5), six = enter("a", 6);
  EXPECT_TRUE(ended_.empty());
  EXPECT_FALSE(six->of_reserve());
}

TEST_F(ConnectionTableTest, TheReserveIsForWhoComesWhenAllAreBusy) {
  std::vector<Place> places;
  for (int i = 0; i < 6; ++i) {
    places.push_back(enter("a", i));
    places.back()->become_known();
  }
  const auto reserve = enter("a", 7);
  ASSERT_TRUE(reserve);
  EXPECT_TRUE(reserve->of_reserve());
  EXPECT_FALSE(enter("a", 8)) << "nobody waits for a request, nothing is left";
  places[3]->wait();
  places[1]->wait();
  const auto next = enter("a", 9);
  ASSERT_TRUE(next);
  EXPECT_EQ(ended_, std::vector{3});
}

TEST_F(ConnectionTableTest, APlaceIsGivenBack) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(enter("a", i));
  EXPECT_TRUE(ended_.empty());
}

}  // namespace
}  // namespace clrscope::net
