// The tables of a store, and how those of an older version become them.
#pragma once

#include "store/sqlite/chunk.h"
#include "store/sqlite/database.h"

namespace clrscope::store {

// Of the index by trace id: another trace may have the same.
std::int64_t trace_key(const TraceId& trace);

// Adds all sampled requests of a chunk to the index by trace id.
Result<> index_traces(Statement& insert, const ChunkHead& head, std::uint64_t service,
                      std::int64_t bucket);
inline constexpr const char* kInsertTrace =
    "INSERT OR IGNORE INTO trace(key, service, t) VALUES(?, ?, ?)";

// Makes the tables, or updates them. Killed at any instant, the next one goes on.
Result<> prepare_schema(Database& database);

}  // namespace clrscope::store
