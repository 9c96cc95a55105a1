#include <fmt/format.h>

#include "store/check.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"

namespace clrscope::store {
namespace {

constexpr std::string_view kSqlite = "sqlite:", kClickhouse = "clickhouse:";

bool names(const std::string& where, std::string_view kind) {
  return where.starts_with(kind) && where.size() > kind.size();
}

Failure unknown(const std::string& where) {
  return fail(Errc::kUsage, "--store {}: unknown kind of store", where)
      .hint("use sqlite:FILE or clickhouse:http://HOST:8123");
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& where, Retention retention,
                                          QueryLimits limits) {
  if (names(where, kSqlite))
    return TRY(SqliteStore::open(where.substr(kSqlite.size()), retention, limits));
  if (names(where, kClickhouse))
    return TRY(ClickhouseStore::open(where.substr(kClickhouse.size()), retention, limits));
  return unknown(where);
}

Result<std::string> migrate_store(const std::string& where) {
  if (names(where, kSqlite)) {
    TRY(SqliteStore::open(where.substr(kSqlite.size()), {}));
    return std::string{"the file is up to date"};
  }
  if (!names(where, kClickhouse)) return unknown(where);
  const auto nodes = TRY(parse_clickhouse(where.substr(kClickhouse.size())));
  const auto schema = TRY(migrate_schema(nodes));
  return fmt::format("tables of version {} on {} server{}{}", schema.version, nodes.size(),
                     nodes.size() == 1 ? "" : "s",
                     schema.cluster.empty() ? "" : ", cluster " + schema.cluster);
}

Result<StoreCheck> check_store(const std::string& where) {
  if (names(where, kSqlite)) {
    TRY(SqliteStore::open(where.substr(kSqlite.size()), {}));
    return StoreCheck{};
  }
  if (!names(where, kClickhouse)) return unknown(where);
  return TRY(ClickhouseStore::open(where.substr(kClickhouse.size()), {}))->check();
}

}  // namespace clrscope::store
