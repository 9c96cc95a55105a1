#include "store/clickhouse/clickhouse_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kDay = 86'400'000'000'000;

std::string from_environment(const char* name) {
  const auto* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before threads start
  return value == nullptr ? std::string{} : std::string{value};
}

Result<std::string> database_of(const net::HttpUrl& url) {
  const auto query = url.path.find('?');
  if (query == std::string::npos) return std::string{"clrscope"};
  constexpr std::string_view kDatabase = "database=";
  const auto text = std::string_view{url.path}.substr(query + 1);
  const auto name = text.substr(std::min(kDatabase.size(), text.size()));
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!text.starts_with(kDatabase) || name.empty() ||
      !std::all_of(name.begin(), name.end(), is_letter))
    return fail(Errc::kUsage, "--store: '{}' must be database=NAME", text)
        .hint("clickhouse:http://HOST:8123/?database=clrscope");
  return std::string{name};
}

}  // namespace

Result<ClickhouseNodes> parse_clickhouse(std::string_view urls, QueryLimits limits) {
  ClickhouseNodes nodes;
  ClickhouseAccess access{.user = from_environment("CLRSCOPE_CLICKHOUSE_USER"),
                          .password = from_environment("CLRSCOPE_CLICKHOUSE_PASSWORD"),
                          .query_memory = limits.memory};
  for (const auto text : split(urls, ',')) {
    auto url = TRY(net::parse_url(text));
    if (nodes.empty()) access.database = TRY(database_of(url));
    if (!url.tls && !access.password.empty() && url.address.host != "127.0.0.1" &&
        url.address.host != "localhost" && url.address.host != "::1")
      return fail(Errc::kUsage, "the password of ClickHouse would travel in plain text to {}", text)
          .hint("use https://");
    nodes.push_back(std::make_unique<ClickhouseNode>(std::move(url), access));
  }
  return nodes;
}

ClickhouseStore::ClickhouseStore(Retention retention, ClickhouseNodes nodes,
                                 ClickhouseSchema schema)
    : retention_(retention), nodes_(std::move(nodes)), schema_(std::move(schema)), ledger_([this] {
        std::vector<ClickhouseNode*> holders;
        for (std::size_t i = 0; i < schema_.ledger && i < nodes_.size(); ++i)
          holders.push_back(nodes_[i].get());
        return holders;
      }()) {}

Result<std::unique_ptr<ClickhouseStore>> ClickhouseStore::open(std::string_view urls,
                                                               Retention retention,
                                                               QueryLimits limits) {
  auto nodes = TRY(parse_clickhouse(urls, limits));
  // Of the servers that answer: a migration may have reached only some of them.
  Result<ClickhouseSchema> schema = fail(Errc::kUsage, "no server is named");
  for (const auto& node : nodes) {
    auto one = read_schema(*node);
    if (!one && schema) continue;
    if (one && schema) {
      const auto since = std::max(schema->rolled_since, one->rolled_since);
      if (one->version > schema->version) one = schema;
      one->rolled_since = since;
    }
    schema = std::move(one);
  }
  if (!schema) return fail(schema.error());
  if (schema->version != kClickhouseSchema)
    return fail(Errc::kUnsupported, "ClickHouse has tables of version {}, this program needs {}",
                schema->version, kClickhouseSchema)
        .hint("run: clrscope fleet migrate --store clickhouse:{}", urls);
  if (schema->ledger != Ledger::size_for(nodes.size()))
    return fail(Errc::kUsage, "the ledger was set up for {} servers; {} were named", schema->ledger,
                nodes.size())
        .hint("name all servers that fleet migrate named, in the same order");
  return std::unique_ptr<ClickhouseStore>{
      new ClickhouseStore{retention, std::move(nodes), *std::move(schema)}};
}

Result<std::string> ClickhouseStore::select(const std::string& sql) {
  Error last{Errc::kSystem, "no ClickHouse server is named"};
  const auto first = preferred_.load();
  for (const bool resting : {false, true})
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto at = (first + i) % nodes_.size();
      if (nodes_[at]->resting() != resting) continue;
      auto answer = nodes_[at]->select(sql);
      if (answer) preferred_ = at;
      if (answer || answer.error().code != Errc::kSystem) return answer;
      last = answer.error();
    }
  return fail(std::move(last));
}

// Whole days: a partition is dropped when all of it is past its retention.
Result<> ClickhouseStore::expire(WallTime now) {
  const auto retention = this->retention();
  const auto oldest = (now.time_since_epoch().count() - retention.age.count()) / kDay;
  for (const auto& node : nodes_)
    for (const auto* table : kTablesByDay) TRY(drop_partitions(*node, table, oldest));
  TRY(ledger_.expire(oldest - 2));  // it outlives the rows, which are up to a day ahead of it
  if (retention.max_bytes == ~std::uint64_t{0}) return {};
  for (;;) {
    std::uint64_t used = 0;
    auto first = std::numeric_limits<std::int64_t>::max();
    for (const auto& node : nodes_) {
      Rows rows{TRY(node->run(fmt::format(
          "SELECT sum(bytes_on_disk), minIf(toInt64OrZero(partition), table IN ('request', "
          "'otlp_span')), countIf(table IN ('request', 'otlp_span')) FROM system.parts WHERE "
          "active AND database = {}",
          quoted(node->database()))))};
      used += rows.number<std::uint64_t>();
      const auto day = rows.number<std::int64_t>();
      if (rows.number<std::uint64_t>() > 0) first = std::min(first, day);
      TRY(rows.done());
    }
    if (used <= retention.max_bytes || first == std::numeric_limits<std::int64_t>::max()) return {};
    for (const auto& node : nodes_)
      for (const auto* table : kTablesByDay) TRY(drop_partitions(*node, table, first + 1));
    if (first >= now.time_since_epoch().count() / kDay)
      return {};  // today: it will be filled again
  }
}

Result<std::uint64_t> ClickhouseStore::used_bytes() {
  std::uint64_t used = 0;
  for (const auto& node : nodes_) {
    Rows rows{TRY(node->run(
        fmt::format("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = {}",
                    quoted(node->database()))))};
    used += rows.number<std::uint64_t>();
    TRY(rows.done());
  }
  return used;
}

void ClickhouseStore::set_retention(Retention retention) {
  retention_.with([&](Retention& one) { one = retention; });
}

Result<> ClickhouseStore::compact(WallTime /*now*/) { return {}; }

Result<> ClickhouseStore::ready() {
  TRY(ledger_.committed());
  TRY(select(fmt::format("SELECT count() FROM {} WHERE bucket = 0", schema_.all("service_10s"))));
  return {};
}

}  // namespace clrscope::store
