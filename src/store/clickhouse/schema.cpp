#include "store/clickhouse/schema.h"

#include <fmt/format.h>

#include <cctype>

#include "base/text.h"
#include "store/clickhouse/cascade.h"
#include "store/clickhouse/flame_rollup.h"
#include "store/clickhouse/ledger.h"
#include "store/clickhouse/rollup.h"
#include "store/clickhouse/row_binary.h"

namespace clrscope::store {
namespace {

// Tables with rows of groups: epoch, seq and batch say whether a row counts.
struct DataTable {
  std::string_view name{}, columns{}, engine = "MergeTree", order{}, partition{}, shard{};
};

constexpr std::string_view kGroup = "batch UInt64, epoch UInt64, seq UInt32";
// One row per route, version, slot and epoch once the engine has merged them; `last` says up to
// which group of the epoch: docs/adr/0008-clickhouse.md
constexpr std::string_view kRollUpColumns =
    "service String, slot UInt32, version String, method String, route String, epoch UInt64, "
    "last AggregateFunction(max, UInt32), first AggregateFunction(min, Int64), "
    "requests AggregateFunction(count), errors AggregateFunction(sum, UInt64), "
    "sampled AggregateFunction(sum, UInt64), "
    "ranks AggregateFunction(quantilesExactWeighted(0.5, 0.9, 0.95, 0.99), UInt64, UInt8), "
    "longest AggregateFunction(max, UInt64), ran AggregateFunction(sum, UInt64), "
    "waited AggregateFunction(sum, UInt64), in_queue AggregateFunction(sum, UInt64)";
constexpr std::string_view kRollUpOrder = "(service, slot, version, method, route, epoch)";

constexpr DataTable kTables[] = {
    {.name = "request",
     .columns = "service String, bucket UInt32, begin Int64, {group}, host String, version String, "
                "trace FixedString(16), method String, route String, path String, error String, "
                "status UInt16, flags UInt8, duration UInt64, running UInt64, waiting UInt64, "
                "queued UInt64, bytes_in UInt64, bytes_out UInt64, spans_lost UInt32, "
                "spans UInt32, span_path Array(UInt64), span_self Array(UInt64), "
                "span_parent Array(UInt32), span_begin Array(UInt64), span_duration Array(UInt64), "
                "span_queued Array(UInt64), span_thread Array(UInt32), span_kind Array(UInt32), "
                "span_steps Array(UInt32), step_begin Array(UInt64), step_duration Array(UInt64), "
                "step_thread Array(UInt32), samples UInt32, sample_path Array(UInt64), "
                "sample_weight Array(UInt64), sample_time Array(UInt64), "
                "sample_span Array(UInt32), sample_thread Array(UInt32)",
     .order = "(service, bucket, begin)",
     .partition = "intDiv(bucket, 8640)",
     .shard = "cityHash64(service, intDiv(bucket, 6))"},
    {.name = "trace",
     .columns = "trace FixedString(16), service String, bucket UInt32, {group}",
     .order = "trace",
     .partition = "intDiv(bucket, 8640)",
     .shard = "rand()"},
    {.name = "service_10s",
     .columns = "service String, bucket UInt32, {group}, requests UInt64, sampled UInt64, "
                "errors UInt64, spans UInt64",
     .order = "(service, bucket)",
     .partition = "intDiv(bucket, 8640)",
     .shard = "rand()"},
    {.name = "latency_5m",
     .columns = kRollUpColumns,
     .engine = "AggregatingMergeTree",
     .order = kRollUpOrder,
     .partition = "intDiv(slot, 288)",
     .shard = "rand()"},
    {.name = "latency_1h",
     .columns = kRollUpColumns,
     .engine = "AggregatingMergeTree",
     .order = kRollUpOrder,
     .partition = "intDiv(slot, 24)",
     .shard = "rand()"},
    {.name = "flame_5m",
     .columns = kFlameColumns,
     .engine = "AggregatingMergeTree",
     .order = kFlameOrder,
     .partition = "intDiv(slot, 288)",
     .shard = "rand()"},
    {.name = "flame_1h",
     .columns = kFlameColumns,
     .engine = "AggregatingMergeTree",
     .order = kFlameOrder,
     .partition = "intDiv(slot, 24)",
     .shard = "rand()"},
    {.name = "source",
     .columns = "service String, host String, instance String, {group}, version String, "
                "pid UInt32, runtime String, relay_version String, day UInt32, received Int64, "
                "ord Int64, skew Int64, batches UInt8, duplicates UInt8, written_requests UInt64, "
                "written_spans UInt64, stored_requests UInt64, stored_spans UInt64, seen UInt64, "
                "sampled UInt64, lost_requests UInt64, lost_spans UInt64, cpu UInt64, "
                "written_samples UInt64, stored_samples UInt64, lost_samples UInt64",
     .order = "(service, host, instance)",
     .partition = "intDiv(day, 30)",
     .shard = "cityHash64(service, host)"},
    {.name = "otlp_span",
     .columns = "trace FixedString(16), span_id String, content UInt64, bucket UInt32, "
                "begin Int64, duration UInt64, parent_id String, service String, host String, "
                "version String, scope String, name String, kind String, status String, "
                "message String, attribute_key Array(String), attribute_value Array(String), "
                "dropped UInt32",
     .engine = "ReplacingMergeTree",
     .order = "(trace, span_id, content)",
     .partition = "intDiv(bucket, 8640)",
     .shard = "cityHash64(trace)"},
    {.name = "configuration",
     .columns = "service String, version UInt64, time Int64, who String, comment String, "
                "percent UInt32, settings String",
     .order = "(service, version)",
     .shard = "cityHash64(service)"},
    {.name = "agent",
     .columns = "service String, host String, instance String, configuration UInt64, "
                "trouble String, time Int64",
     .engine = "ReplacingMergeTree",
     .order = "(service, host, instance)",
     .partition = "intDiv(time, 86400000000000)",
     .shard = "cityHash64(service, host)"},
    {.name = "path",
     .columns = "path UInt64, parent UInt64, method String",
     .engine = "ReplacingMergeTree",
     .order = "path",
     .shard = "path"},
};

// Plain tables of single servers.
constexpr std::string_view kLocalTables[] = {
    "CREATE TABLE IF NOT EXISTS ledger_batch (id String, epoch UInt64, seq UInt32, day UInt32) "
    "ENGINE = MergeTree PARTITION BY day ORDER BY id SETTINGS index_granularity = 256",
    "CREATE TABLE IF NOT EXISTS ledger_conflict (batch UInt64, epoch UInt64, seq UInt32, "
    "day UInt32) ENGINE = ReplacingMergeTree PARTITION BY day ORDER BY (batch, epoch, seq)",
    "CREATE TABLE IF NOT EXISTS ledger_commit (epoch UInt64, seq UInt32, day UInt32) "
    "ENGINE = ReplacingMergeTree(seq) PARTITION BY day ORDER BY epoch",
    "CREATE TABLE IF NOT EXISTS meta (version UInt32, cluster String, ledger UInt32) "
    "ENGINE = MergeTree PARTITION BY tuple() ORDER BY version",
    "CREATE TABLE IF NOT EXISTS meta_rolled (since Int64) ENGINE = MergeTree PARTITION BY tuple() "
    "ORDER BY since",
    "CREATE TABLE IF NOT EXISTS meta_flame (since Int64) ENGINE = MergeTree PARTITION BY tuple() "
    "ORDER BY since",
    // The version of ClickHouse that the views were made for; the row with the largest number.
    "CREATE TABLE IF NOT EXISTS meta_engine (number UInt32, engine String) ENGINE = MergeTree "
    "PARTITION BY tuple() ORDER BY number",
};

// Fed with every insert: an insert whose views failed is never committed, so they cannot drift.
constexpr std::string_view kViews[] = {
    "CREATE MATERIALIZED VIEW IF NOT EXISTS request_to_trace TO {db}.trace AS SELECT trace, "
    "service, bucket, batch, epoch, seq FROM {db}.request WHERE bitAnd(flags, 1) = 1",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS request_to_service_10s TO {db}.service_10s AS SELECT "
    "service, bucket, batch, epoch, seq, count() AS requests, sum(bitAnd(flags, 1)) AS sampled, "
    "sum(status >= 500 OR error != '') AS errors, sum(toUInt64(spans)) AS spans FROM {db}.request "
    "GROUP BY service, bucket, batch, epoch, seq",
    // For queries of others, such as Grafana's: which rows count. docs/formats/clickhouse.md
    "CREATE VIEW IF NOT EXISTS ledger_last AS SELECT epoch, max(seq) AS last FROM "
    "{db}.ledger_commit GROUP BY epoch ORDER BY epoch",
    "CREATE VIEW IF NOT EXISTS ledger_loser AS SELECT tupleElement(held, 1) AS epoch, "
    "tupleElement(held, 2) AS seq, batch FROM (SELECT batch, "
    "arrayJoin(arraySlice(arraySort(groupUniqArray((epoch, seq))), 2)) AS held FROM "
    "{db}.ledger_conflict ANY INNER JOIN (SELECT epoch, last FROM {db}.ledger_last) AS committed "
    "USING epoch WHERE seq <= last GROUP BY batch)",
};

constexpr std::string_view kRollUpView =
    "CREATE MATERIALIZED VIEW IF NOT EXISTS request_to_{table} TO {db}.{table} AS SELECT service, "
    "intDiv(bucket, {buckets}) AS slot, version, method, route, epoch, maxState(seq) AS last, "
    "minState(begin) AS first, {states} FROM {db}.request "
    "GROUP BY service, slot, version, method, route, epoch";

std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(wall_now().time_since_epoch()).count();
}

// "a UInt8, b AggregateFunction(max, UInt32)" → its columns.
std::vector<std::string> columns_of(std::string_view text) {
  std::vector<std::string> columns;
  int depth = 0;
  for (std::size_t i = 0, first = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      columns.emplace_back(trim(text.substr(first, i - first)));
      first = i + 1;
    } else {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    }
  }
  return columns;
}

std::string table_text(const DataTable& table, const ClickhouseNode& node,
                       const std::string& cluster) {
  auto engine = std::string{table.engine};
  if (!cluster.empty())
    engine = fmt::format("Replicated{}('/clrscope/{}/{{shard}}/{}', '{{replica}}')", table.engine,
                         node.database(), table.name);
  auto text = fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) ENGINE = {}", table.name,
                          replace_all(table.columns, "{group}", kGroup), engine);
  if (!table.partition.empty()) text += fmt::format(" PARTITION BY {}", table.partition);
  return text + fmt::format(" ORDER BY {}", table.order);
}

Result<std::string> cluster_of(ClickhouseNode& node) {
  Rows rows{TRY(node.run("SELECT substitution FROM system.macros WHERE macro = 'cluster'"))};
  if (!rows.more()) return std::string{};
  auto name = rows.text();
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_')
      return fail(Errc::kUnsupported, "ClickHouse {}: the macro cluster is {}", node.name(), name)
          .hint("use letters, digits and _");
  return name;
}

// A table of an older version may lack columns; rows are inserted in the order of the columns.
Result<> add_missing_columns(ClickhouseNode& node, const DataTable& table,
                             const std::string& name) {
  const auto has = [&](const std::string& column) -> Result<bool> {
    Rows rows{TRY(node.run(fmt::format(
        "SELECT count() FROM system.columns WHERE database = {} AND table = {} AND name = {}",
        quoted(node.database()), quoted(name), quoted(column))))};
    return rows.number<std::uint64_t>() > 0;
  };
  std::string before;
  for (const auto& column : columns_of(replace_all(table.columns, "{group}", kGroup))) {
    auto own = column.substr(0, column.find(' '));
    if (!TRY(has(own))) {
      const auto added =
          node.run(fmt::format("ALTER TABLE {} ADD COLUMN {} AFTER {}", name, column, before));
      // Another replica may have added it: it arrives here in a moment.
      const Deadline deadline{std::chrono::seconds{10}};
      while (!added && !TRY(has(own)))
        if (deadline.passed()) return fail(added.error());
    }
    before = std::move(own);
  }
  return {};
}

// From when on roll-ups are complete; the latest row counts.
Result<> note_since(ClickhouseNode& node, std::string_view table, std::int64_t since) {
  ByteWriter row;
  row.write(since);
  TRY(node.run(fmt::format("INSERT INTO {} (since)", table), as_text(row.bytes())));
  return {};
}

Result<> note_engine(ClickhouseNode& node, const std::string& engine) {
  Rows rows{TRY(node.run("SELECT max(number) FROM meta_engine"))};
  const auto number = rows.number<std::uint32_t>();
  TRY(rows.done());
  ByteWriter row;
  row.write(number + 1);
  write_text(row, engine);
  TRY(node.run("INSERT INTO meta_engine (number, engine)", as_text(row.bytes())));
  return {};
}

Result<std::string> engine_of(ClickhouseNode& node) {
  Rows rows{TRY(node.run("SELECT version()"))};
  auto engine = rows.text();
  TRY(rows.done());
  return engine;
}

Result<> migrate_node(ClickhouseNode& node, const ClickhouseSchema& wanted) {
  const auto engine = TRY(engine_of(node));
  const auto has = TRY(read_schema(node));
  if (has.version > kClickhouseSchema)
    return fail(Errc::kUnsupported, "ClickHouse {} has tables of version {}, this program has {}",
                node.name(), has.version, kClickhouseSchema)
        .hint("update clrscope-fleet");
  if (has.version != 0 && (has.cluster != wanted.cluster || has.ledger != wanted.ledger))
    return fail(Errc::kUsage,
                "ClickHouse {} was set up for cluster '{}' with {} servers for the ledger, not "
                "'{}' with {}",
                node.name(), has.cluster, has.ledger, wanted.cluster, wanted.ledger)
        .hint("name the same servers in the same order as at first");
  for (const auto table : kLocalTables) TRY(node.run(std::string{table}));
  for (const auto& table : kTables) {
    const bool older = has.version != 0 && has.version < kClickhouseSchema;
    TRY(node.run(table_text(table, node, wanted.cluster)));
    if (older) TRY(add_missing_columns(node, table, std::string{table.name}));
    if (wanted.cluster.empty()) continue;
    TRY(node.run(fmt::format(
        "CREATE TABLE IF NOT EXISTS {0}_all AS {0} ENGINE = Distributed({1}, {2}, {0}, {3})",
        table.name, wanted.cluster, node.database(), table.shard)));
    if (older) TRY(add_missing_columns(node, table, fmt::format("{}_all", table.name)));
  }
  for (const auto view : kViews) TRY(node.run(replace_all(view, "{db}", node.database())));
  for (const auto& level : kRollUps) {
    auto view =
        replace_all(replace_all(kRollUpView, "{db}", node.database()), "{table}", level.table);
    view = replace_all(view, "{buckets}", std::to_string(level.buckets));
    TRY(node.run(replace_all(view, "{states}", rollup_states())));
  }
  TRY(node.run(std::string{kFlameFeed}));
  const auto cascade = TRY(cascade_of(node));
  if (TRY(has_stale_views(node, cascade))) {
    TRY(note_since(node, "meta_flame", wanted.flames_since));  // first: it may be interrupted
    TRY(drop_stale_views(node));
  }
  TRY(create_flame_views(node, cascade));
  // Before the version: who finds the version must find from when on the roll-ups are complete.
  if (has.rolled_since < wanted.rolled_since || has.version < 3)
    TRY(note_since(node, "meta_rolled", wanted.rolled_since));
  if (has.flames_since < wanted.flames_since || has.version < 5)
    TRY(note_since(node, "meta_flame", wanted.flames_since));
  if (has.migrated_on != engine) TRY(note_engine(node, engine));
  if (has.version == kClickhouseSchema) return {};
  ByteWriter row;
  row.write(wanted.version);
  write_text(row, wanted.cluster);
  row.write(wanted.ledger);
  TRY(node.run("INSERT INTO meta (version, cluster, ledger)", as_text(row.bytes())));
  return {};
}

}  // namespace

Result<ClickhouseSchema> read_schema(ClickhouseNode& node) {
  Rows found{TRY(node.run(
      fmt::format("SELECT count() FROM system.tables WHERE database = {} AND name = 'meta'",
                  quoted(node.database()))))};
  if (found.number<std::uint64_t>() == 0) return ClickhouseSchema{};
  Rows rows{
      TRY(node.run("SELECT version, cluster, ledger FROM meta ORDER BY version DESC LIMIT 1"))};
  if (!rows.more()) return ClickhouseSchema{};
  ClickhouseSchema schema;
  schema.version = rows.number<std::uint32_t>();
  schema.cluster = rows.text();
  schema.ledger = rows.number<std::uint32_t>();
  TRY(rows.done());
  if (schema.version < 3) return schema;
  Rows since{TRY(node.run("SELECT max(since) FROM meta_rolled"))};
  schema.rolled_since = since.number<std::int64_t>();
  TRY(since.done());
  if (schema.version < 5) return schema;
  Rows flames{TRY(node.run("SELECT max(since) FROM meta_flame"))};
  schema.flames_since = flames.number<std::int64_t>();
  TRY(flames.done());
  if (schema.version < 6) return schema;
  Rows engine{
      TRY(node.run("SELECT engine, version() FROM meta_engine ORDER BY number DESC LIMIT 1"))};
  schema.migrated_on = engine.text();
  schema.engine = engine.text();
  TRY(engine.done());
  return schema;
}

Result<ClickhouseSchema> migrate_schema(std::span<const std::unique_ptr<ClickhouseNode>> nodes) {
  for (const auto& node : nodes) TRY(node->create_database());
  ClickhouseSchema wanted{.version = kClickhouseSchema,
                          .cluster = TRY(cluster_of(*nodes.front())),
                          .ledger = static_cast<std::uint32_t>(Ledger::size_for(nodes.size()))};
  if (wanted.cluster.empty() && nodes.size() > 1)
    return fail(Errc::kUsage, "{} servers were named, but ClickHouse {} has no macro cluster",
                nodes.size(), nodes.front()->name())
        .hint("set the macros cluster, shard and replica in its configuration, or name one server");
  // Views see what is inserted after they exist; requests may begin up to a day ahead of us.
  for (const auto& node : nodes) {
    const auto has = TRY(read_schema(*node));
    const auto complete = now_seconds() + 86'400;
    const auto rolled = has.version == 1 || has.version == 2 ? complete : has.rolled_since;
    bool stale = false;
    if (has.version >= 5) {
      const auto cascade = TRY(cascade_of(*node));
      stale = TRY(has_stale_views(*node, cascade));
    }
    const auto flames =
        stale || (has.version >= 1 && has.version <= 4) ? complete : has.flames_since;
    wanted.rolled_since = std::max(wanted.rolled_since, rolled);
    wanted.flames_since = std::max(wanted.flames_since, flames);
  }
  for (const auto& node : nodes) TRY(migrate_node(*node, wanted));
  return wanted;
}

Result<> drop_partitions(ClickhouseNode& node, std::string_view table, std::int64_t day) {
  Rows rows{
      TRY(node.run(fmt::format("SELECT DISTINCT toInt64(partition) FROM system.parts WHERE "
                               "active AND database = {} AND table = {}",
                               quoted(node.database()), quoted(table))))};
  std::vector<std::int64_t> old;
  while (rows.more())
    if (const auto one = rows.number<std::int64_t>(); one < day) old.push_back(one);
  TRY(rows.done());
  for (const auto one : old)
    TRY(node.run(fmt::format("ALTER TABLE {} DROP PARTITION {}", table, one)));
  return {};
}

}  // namespace clrscope::store
