// The tables in ClickHouse, and how they become those of this version.
//
// A server with the macro `cluster` gets replicated tables and distributed ones over them;
// another one gets plain tables.
#pragma once

#include <span>

#include "store/clickhouse/node.h"

namespace clrscope::store {

inline constexpr std::uint32_t kClickhouseSchema = 6;

// Tables with a partition per day: requests, what is made from them, and spans of other tracers.
inline constexpr const char* kTablesByDay[] = {"request",    "trace",      "service_10s",
                                               "latency_5m", "latency_1h", "flame_5m",
                                               "flame_1h",   "otlp_span",  "agent"};

struct ClickhouseSchema {
  std::uint32_t version = 0;      // 0: no tables
  std::string cluster{};          // empty: one server alone
  std::uint32_t ledger = 0;       // servers that hold the ledger
  std::int64_t rolled_since = 0;  // unix seconds: latency roll-ups are complete from here on
  std::int64_t flames_since = 0;  // the same of call paths
  std::string migrated_on{};      // version of ClickHouse when it was migrated last
  std::string engine{};           // version now

  // The views of call paths may get nothing from this version: cascade.h.
  bool engine_changed() const { return engine != migrated_on; }

  // Where all rows of a table are read and written.
  std::string all(std::string_view table) const {
    return std::string{table} + (cluster.empty() ? "" : "_all");
  }
};

Result<ClickhouseSchema> read_schema(ClickhouseNode& node);

// On every server; does nothing where it is done already.
Result<ClickhouseSchema> migrate_schema(std::span<const std::unique_ptr<ClickhouseNode>> nodes);

// Partitions are days since 1970: those before `day`.
Result<> drop_partitions(ClickhouseNode& node, std::string_view table, std::int64_t day);

}  // namespace clrscope::store
