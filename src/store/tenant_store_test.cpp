#include "store/tenant_store.h"

#include <gtest/gtest.h>

#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

TEST(TenantStore, TakesNamesThatAreSafeInFilesAndDatabases) {
  for (const auto* name : {"a", "shop", "team_7", "x23456789012345678901234567890_2"})
    EXPECT_TRUE(is_tenant_name(name)) << name;
  for (const auto* name :
       {"", "7a", "_a", "Shop", "a-b", "a.b", "../a", "a/b", "a b", "a;DROP", "a'", "a?database=b",
        "a,b", "*", "\xc3\xa4", "x234567890123456789012345678901234"})
    EXPECT_FALSE(is_tenant_name(name)) << name;
  EXPECT_FALSE(tenant_store("clickhouse:http://a:8123", "a?database=b"));
}

TEST(TenantStore, NamesADatabaseOfEachTenant) {
  EXPECT_EQ(tenant_store("clickhouse:http://a:8123,http://b:8123", "shop").value(),
            "clickhouse:http://a:8123?database=clrscope_shop,http://b:8123");
  EXPECT_EQ(tenant_store("clickhouse:http://a:8123/?database=x", "shop").value(),
            "clickhouse:http://a:8123/?database=x_shop");
}

TEST_F(SqliteStoreTest, OfATenantIsAFileInAFolder) {
  EXPECT_EQ(tenant_store("sqlite:" + folder_ + "/all", "shop").value(),
            "sqlite:" + folder_ + "/all/shop.db");
  EXPECT_TRUE(std::filesystem::is_directory(folder_ + "/all"));
  open();
  const auto wrong = tenant_store(where(), "shop");  // a file
  EXPECT_EQ(wrong.error().code, Errc::kUsage);
}

TEST_F(SqliteStoreTest, ChangesItsRetentionWhileItRuns) {
  auto& store = open({.age = std::chrono::hours{1}});
  EXPECT_EQ(add({.number = 1}, kNow + std::chrono::hours{2}), Outcome::kRefused);
  store.set_retention({.age = std::chrono::hours{24}});
  EXPECT_EQ(add({.number = 2}, kNow + std::chrono::hours{2}), Outcome::kStored);
  EXPECT_GT(store.used_bytes().value(), 0U);
}

}  // namespace
}  // namespace clrscope::store
