#include "store/sqlite/schema.h"

#include <fmt/format.h>

#include <cstring>

#include "base/log.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kSchemaVersion = 3;
constexpr const char* kSetUp = R"sql(
PRAGMA page_size = 8192;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA wal_autocheckpoint = 4000;
PRAGMA cache_size = -16000;
)sql";
// The blobs come last: what is before them is read without them.
constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS name(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS path(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, method INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS source(
  id INTEGER PRIMARY KEY, instance BLOB NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, version TEXT NOT NULL,
  pid INTEGER NOT NULL, runtime TEXT NOT NULL, relay_version TEXT NOT NULL,
  first INTEGER NOT NULL, last INTEGER NOT NULL, skew INTEGER NOT NULL,
  batches INTEGER NOT NULL, duplicates INTEGER NOT NULL,
  written_requests INTEGER NOT NULL, written_spans INTEGER NOT NULL,
  stored_requests INTEGER NOT NULL, stored_spans INTEGER NOT NULL,
  seen INTEGER NOT NULL, sampled INTEGER NOT NULL, lost_requests INTEGER NOT NULL, lost_spans INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  written_samples INTEGER NOT NULL DEFAULT 0, stored_samples INTEGER NOT NULL DEFAULT 0,
  lost_samples INTEGER NOT NULL DEFAULT 0, UNIQUE(instance, host, service));
CREATE TABLE IF NOT EXISTS batch(id BLOB PRIMARY KEY, received INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS batch_received ON batch(received);
CREATE TABLE IF NOT EXISTS chunk(
  service INTEGER NOT NULL, t INTEGER NOT NULL, seq INTEGER NOT NULL, last INTEGER NOT NULL,
  requests INTEGER NOT NULL, sampled INTEGER NOT NULL, errors INTEGER NOT NULL, spans INTEGER NOT NULL,
  sums BLOB NOT NULL, head BLOB NOT NULL, stacks BLOB NOT NULL, rest BLOB NOT NULL,
  samples INTEGER NOT NULL DEFAULT 0,
  cpu_sums BLOB NOT NULL DEFAULT x'', cpu_stacks BLOB NOT NULL DEFAULT x'', cpu_rest BLOB NOT NULL DEFAULT x'',
  PRIMARY KEY(service, t, seq)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chunk_by_time ON chunk(t, last, requests, sampled, errors, spans);
CREATE TABLE IF NOT EXISTS trace(
  key INTEGER NOT NULL, service INTEGER NOT NULL, t INTEGER NOT NULL,
  PRIMARY KEY(key, service, t)) WITHOUT ROWID;
)sql";
// Beside the schema and its version: an older server leaves it alone.
constexpr const char* kOtlpTable = R"sql(
CREATE TABLE IF NOT EXISTS otlp_span(
  trace BLOB NOT NULL, span TEXT NOT NULL, content INTEGER NOT NULL, t INTEGER NOT NULL, parent TEXT NOT NULL,
  service TEXT NOT NULL, host TEXT NOT NULL, version TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL,
  kind TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL, begin INTEGER NOT NULL, duration INTEGER NOT NULL,
  dropped INTEGER NOT NULL, attributes BLOB NOT NULL,
  PRIMARY KEY(trace, span, content)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS otlp_span_by_time ON otlp_span(t);
)sql";

Result<bool> has_table(Database& database, const std::string& name) {
  auto found =
      TRY(database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"));
  return TRY(found.bind(name).step());
}

// Schema 1 had neither `last` nor `sums`, and its index led to a chunk's seq. Its chunks move to
// the new table as they are; merging rewrites them.
Result<> begin_update_from_1(Database& database) {
  auto transaction = TRY(Transaction::begin(database));
  TRY(database.run("ALTER TABLE chunk RENAME TO chunk_1; DROP TABLE trace;"));
  TRY(database.run(kTables));
  TRY(database.run("UPDATE meta SET value = 2 WHERE key = 'schema'"));
  return transaction.commit();
}

Result<bool> move_some_chunks(Database& database) {
  constexpr int kAtOnce = 200;
  auto transaction = TRY(Transaction::begin(database));
  auto find =
      TRY(database.prepare("SELECT service, t, seq, head FROM chunk_1 ORDER BY service, t, seq "
                           "LIMIT ?"));
  auto trace = TRY(database.prepare(kInsertTrace));
  std::int64_t service = 0, t = 0, seq = 0;
  bool any = false;
  find.bind(std::int64_t{kAtOnce});
  while (TRY(find.step())) {
    service = find.integer(0), t = find.integer(1), seq = find.integer(2), any = true;
    if (const auto head = read_head(find.blob(3)))  // else damaged: its requests cannot be found
      TRY(index_traces(trace, *head, find.count(0), t));
  }
  if (any) {
    auto move = TRY(
        database.prepare("INSERT INTO chunk(service, t, seq, last, requests, sampled, errors, "
                         "spans, sums, head, stacks, rest) SELECT service, t, seq, t, requests, "
                         "sampled, errors, spans, x'', head, stacks, rest FROM chunk_1 WHERE "
                         "(service, t, seq) <= (?, ?, ?)"));
    TRY(move.bind(service, t, seq).run());
    auto drop = TRY(database.prepare("DELETE FROM chunk_1 WHERE (service, t, seq) <= (?, ?, ?)"));
    TRY(drop.bind(service, t, seq).run());
  }
  TRY(transaction.commit());
  return any;
}

// Schema 2 had no CPU samples. A file that comes from schema 1 has some of the columns already.
Result<> update_from_2(Database& database) {
  struct Added {
    const char* table;
    const char* column;
    const char* type;
  };
  constexpr const char* kNumber = "INTEGER NOT NULL DEFAULT 0";
  constexpr const char* kBlob = "BLOB NOT NULL DEFAULT x''";
  constexpr Added kAdded[] = {
      {"source", "written_samples", kNumber}, {"source", "stored_samples", kNumber},
      {"source", "lost_samples", kNumber},    {"chunk", "samples", kNumber},
      {"chunk", "cpu_sums", kBlob},           {"chunk", "cpu_stacks", kBlob},
      {"chunk", "cpu_rest", kBlob},
  };
  auto transaction = TRY(Transaction::begin(database));
  for (const auto& [table, column, type] : kAdded) {
    auto there = TRY(database.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = ?"));
    if (TRY(there.bind(std::string{table}, std::string{column}).step())) continue;
    there.reset();
    TRY(database.run(fmt::format("ALTER TABLE {} ADD COLUMN {} {}", table, column, type).c_str()));
  }
  TRY(database.run("UPDATE meta SET value = 3 WHERE key = 'schema'"));
  return transaction.commit();
}

Result<> update(Database& database, std::int64_t version) {
  if (version == 1) TRY(begin_update_from_1(database));
  if (version == 1 || version == 2) TRY(update_from_2(database));
  if (!TRY(has_table(database, "chunk_1"))) return {};
  log(LogLevel::kInfo, "{}: updating the store from schema 1", database.path());
  while (TRY(move_some_chunks(database))) {
  }
  return database.run("DROP TABLE chunk_1");
}

}  // namespace

std::int64_t trace_key(const TraceId& trace) {
  // 32 bits of a mix of all of it: some systems begin every id with the time.
  std::uint64_t words[2];
  static_assert(sizeof words == sizeof trace);
  std::memcpy(words, trace.data(), sizeof words);
  auto mixed = (words[0] ^ (words[1] << 32U | words[1] >> 32U)) * 0x9e3779b97f4a7c15U;
  mixed = (mixed ^ mixed >> 32U) * 0xd6e8feb86659fd93U;
  return static_cast<std::int32_t>(mixed >> 32U);
}

Result<> index_traces(Statement& insert, const ChunkHead& head, std::uint64_t service,
                      std::int64_t bucket) {
  for (std::size_t at = 0; at < head.size(); ++at) {
    if (!head.is_sampled(at) || head.trace_id[at] == TraceId{}) continue;
    const auto own = bucket + static_cast<std::int64_t>(head.begin[at]) / kBucket;
    TRY(insert.bind(trace_key(head.trace_id[at]), service, own).run());
  }
  return {};
}

Result<> prepare_schema(Database& database) {
  TRY(database.run(kSetUp));
  std::int64_t version = 0;  // a new file
  if (TRY(has_table(database, "meta"))) {
    auto schema = TRY(database.prepare("SELECT value FROM meta WHERE key = 'schema'"));
    if (TRY(schema.step())) version = schema.integer(0);
  }
  if (version > kSchemaVersion)
    return fail(Errc::kUnsupported, "{} was written by a newer version (schema {})",
                database.path(), version)
        .hint("update clrscope-fleet");
  if (version == 0) {
    auto transaction = TRY(Transaction::begin(database));
    TRY(database.run(kTables));
    TRY(database.run("INSERT INTO meta VALUES('schema', 3)"));
    TRY(transaction.commit());
  }
  TRY(database.run(kOtlpTable));
  return update(database, version);
}

}  // namespace clrscope::store
