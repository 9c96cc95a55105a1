#include "fleet/tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "fleet/access.h"
#include "fleet/rest.h"
#include "store/test_batches.h"

namespace clrscope::fleet {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

TEST(ParseTenants, TakesWhatALineLeavesOutFromTheServer) {
  const TenantSetting usual{.retention = {.age = hours{9}}, .host_limit = 7};
  const auto tenants = parse_tenants(
      "# all\nshop retention=2d quota=1KiB series=5 max-size=1MiB\n\npay host-limit=0 # us\n",
      usual);
  ASSERT_TRUE(tenants) << tenants.error().what;
  ASSERT_EQ(tenants->size(), 2U);
  EXPECT_EQ((*tenants)[0], (TenantSetting{.name = "shop",
                                          .retention = {.age = hours{48}, .max_bytes = 1 << 20},
                                          .quota_bytes = 1024,
                                          .quota_series = 5,
                                          .host_limit = 7}));
  EXPECT_EQ((*tenants)[1].name, "pay");
  EXPECT_EQ((*tenants)[1].retention.age, hours{9});
  EXPECT_EQ((*tenants)[1].host_limit, 0U);
}

TEST(ParseTenants, NamesTheLineThatIsWrong) {
  for (const auto* text : {"a\n../b", "a\na", "a\nB", "a\nb c", "a\nb quota=", "a\nb quota=many",
                           "a\nb series=-1", "a\nb retention=0s", "a\nb moon=1", "a\nb=1"})
    EXPECT_THAT(parse_tenants(text, {}).error().what, HasSubstr("line 2")) << text;
}

TEST(SeriesQuota, LetsKnownSeriesInAndCountsTheOthers) {
  SeriesQuota quota;
  const TraceTime start{seconds{50}};
  auto batch = store::make_batch({.requests = 10, .routes = 4});
  EXPECT_EQ(quota.apply(batch, 0, start), 0U);
  EXPECT_EQ(quota.apply(batch, 3, start), 2U);  // requests 3 and 7 are of the fourth route
  EXPECT_EQ(batch.requests.size(), 8U);
  EXPECT_TRUE(store::check_batch(batch));
  EXPECT_EQ(quota.count(start), 3U);
  auto other = store::make_batch({.service = "pay", .requests = 2, .routes = 1});
  EXPECT_EQ(quota.apply(other, 3, start + seconds{60}), 2U);
  EXPECT_TRUE(other.requests.empty());
  // An hour later the series of the shop have gone.
  auto later = store::make_batch({.service = "pay", .requests = 2, .routes = 1});
  EXPECT_EQ(quota.apply(later, 3, start + SeriesQuota::kKept + seconds{1}), 0U);
  EXPECT_EQ(quota.count(start + SeriesQuota::kKept + seconds{1}), 1U);
}

class TenantsTest : public testing::Test {
 protected:
  TenantsTest() {
    std::string name = testing::TempDir() + "tenants.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~TenantsTest() override {
    tenants_.reset();
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& text) { std::ofstream{folder_ + "/tenants"} << text; }
  void open() {
    tenants_ = Tenants::open({.store = "sqlite:" + folder_ + "/stores",
                              .file = folder_ + "/tenants",
                              .usual = {.retention = {.age = seconds{1LL << 32}}}})
                   .value();
  }
  std::string token(const std::string& scopes, const std::string& tenant) {
    return "Bearer " + add_token(folder_ + "/tokens", "somebody", scopes, tenant).value();
  }
  Access::Answer check(const std::string& word, Caller& caller) {
    const auto tokens = Tokens::open(folder_ + "/tokens").value();
    const auto audit = FleetAudit::open(folder_ + "/audit").value();
    return Access{tokens, *audit, *tenants_}.check(word, Scope::kRead, "test", "me", caller);
  }
  std::string folder_;
  std::unique_ptr<Tenants> tenants_;
};

TEST_F(TenantsTest, AreReachedByTheirTokensAlone) {
  write("shop\npay\n");
  open();
  const auto shop = token("read", "shop"), gone = token("read", "gone"), all = token("read", "*"),
             plain = token("read", ""), sender = token("ingest", "shop");
  Caller caller;
  ASSERT_EQ(check(shop, caller), Access::Answer::kYes);
  EXPECT_EQ(caller.tenant->name(), "shop");
  for (const auto& word : {gone, plain, sender}) {
    Caller refused;
    EXPECT_NE(check(word, refused), Access::Answer::kYes);
    EXPECT_EQ(refused.tenant, nullptr);
  }
  Caller operator_;
  ASSERT_EQ(check(all, operator_), Access::Answer::kYes);
  EXPECT_EQ(operator_.tenant, nullptr);
  const auto get = [&](const std::string& path, const Caller& who) {
    const auto tokens = Tokens::open(folder_ + "/tokens").value();
    const auto audit = FleetAudit::open("").value();
    return Rest::answer({.method = "GET", .path = path}, {tokens, *audit, *tenants_}, who);
  };
  for (const auto& route : rest_routes())
    EXPECT_EQ(get(std::string{route.path}, operator_).status == 403, !route.of_server)
        << route.path;
  EXPECT_THAT(get("/fleet/tenants", operator_).body,
              testing::AllOf(HasSubstr(R"("tenant":"pay")"), HasSubstr(R"("tenant":"shop")")));
  EXPECT_THAT(get("/fleet/tenants", caller).body, testing::Not(HasSubstr("pay")));
  std::ifstream audit{folder_ + "/audit"};
  const std::string lines{std::istreambuf_iterator<char>{audit}, {}};
  EXPECT_THAT(lines, HasSubstr(R"("tenant":"shop","outcome":"allowed")"));
  EXPECT_THAT(lines, HasSubstr(R"("tenant":"gone","outcome":"refused")"));
}

TEST_F(TenantsTest, KeepTheirDataWhenTheyGoAndComeBack) {
  write("shop\n");
  open();
  const auto word = token("read", "shop");
  Caller before, during, after;
  ASSERT_EQ(check(word, before), Access::Answer::kYes);
  auto batch = store::make_batch({});
  ASSERT_TRUE(before.tenant->store().add(std::vector{batch}, WallTime{seconds{1'800'000'000}}));
  write("pay\n");
  ASSERT_TRUE(tenants_->refresh());
  EXPECT_EQ(check(word, during), Access::Answer::kNoTenant);
  EXPECT_EQ(before.tenant->take(batch, 1).error().code, Errc::kDenied);
  write("shop quota=1\n");
  ASSERT_TRUE(tenants_->refresh());
  ASSERT_EQ(check(word, after), Access::Answer::kYes);
  EXPECT_EQ(after.tenant->store().services({}).value().size(), 1U);
  tenants_->measure();
  const auto full = after.tenant->take(batch, 1);
  EXPECT_EQ(full.error().code, Errc::kNoRoom);
  EXPECT_THAT(full.error().what, HasSubstr("tenant shop: "));
  EXPECT_TRUE(after.tenant->use().full);
  write("../x\n");
  EXPECT_FALSE(tenants_->refresh());  // says so once, and keeps what it had
  EXPECT_TRUE(tenants_->refresh());
  EXPECT_EQ(check(word, after), Access::Answer::kYes);
}

TEST_F(TenantsTest, AreOpenedAgainLaterIfTheirStoreCouldNotBe) {
  write("pay\n");
  open();
  const auto word = token("read", "shop");
  Caller caller;
  const auto obstacle = folder_ + "/stores/shop.db";
  std::filesystem::create_directory(obstacle);
  write("pay\nshop\n");
  const TraceTime start{seconds{1000}};
  EXPECT_FALSE(tenants_->refresh(start));
  EXPECT_EQ(check(word, caller), Access::Answer::kNoTenant);
  std::filesystem::remove(obstacle);
  EXPECT_TRUE(tenants_->refresh(start + Tenants::kTryAgain - seconds{1}));
  EXPECT_EQ(check(word, caller), Access::Answer::kNoTenant) << "not at every look";
  EXPECT_TRUE(tenants_->refresh(start + Tenants::kTryAgain));
  EXPECT_EQ(check(word, caller), Access::Answer::kYes);
}

}  // namespace
}  // namespace clrscope::fleet
