#include "store/clickhouse/clickhouse_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "base/text.h"

namespace clrscope::store {
namespace {

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
    if (one && schema && one->version > schema->version) one = schema;
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
  std::unique_ptr<ClickhouseStore> store{
      new ClickhouseStore{retention, std::move(nodes), *std::move(schema)}};
  if (const auto done = store->read_since(); !done) log_error(done.error());
  return store;
}

// They only grow, and views of an older engine get nothing from a newer one, without an error.
Result<> ClickhouseStore::read_since() {
  std::size_t answered = 0;
  std::string changed;
  auto outcome = on_each([&](ClickhouseNode& node) -> Result<> {
    const auto schema = TRY(read_schema(node));
    ++answered;
    rolled_since_ = std::max(rolled_since_.load(), schema.rolled_since);
    flames_since_ = std::max(flames_since_.load(), schema.flames_since);
    if (schema.engine_changed())
      changed = fmt::format("ClickHouse {}: its version was {} when fleet migrate ran, and is {}",
                            node.name(), schema.migrated_on, schema.engine);
    return {};
  });
  if (changed.empty() && answered < nodes_.size()) return outcome;  // the others may be newer
  if (!changed.empty() && !engine_changed_)
    log_error({Errc::kSystem, changed + ": flame graphs are read from the requests, which is slow",
               "run: clrscope fleet migrate"});
  engine_changed_ = !changed.empty();
  return outcome;
}

Result<Pieces> ClickhouseStore::select(const std::string& sql, std::uint64_t limit) {
  Error last{Errc::kSystem, "no ClickHouse server is named"};
  const auto first = preferred_.load();
  for (const bool resting : {false, true})
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto at = (first + i) % nodes_.size();
      if (nodes_[at]->resting() != resting) continue;
      auto answer = nodes_[at]->select(sql, limit);
      if (answer) preferred_ = at;
      if (answer || answer.error().code != Errc::kSystem) return answer;
      last = answer.error();
    }
  return fail(std::move(last));
}

// The others go on when a server is away; the error is of the last one that was.
Result<> ClickhouseStore::on_each(const std::function<Result<>(ClickhouseNode&)>& on_node) {
  Result<> outcome;
  for (const auto& node : nodes_) {
    auto done = node->resting() ? Result<>{fail(Errc::kSystem,
                                                "ClickHouse {}: it did not answer "
                                                "a moment ago",
                                                node->name())}
                                : on_node(*node);
    if (!done) outcome = std::move(done);
  }
  return outcome;
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
