// Materialised views of what another view writes.
//
// In ClickHouse 18.16 such a view reads from the other view, in later versions from the table that
// the other view writes to; a view of the wrong kind gets no rows, without an error.
#pragma once

#include "store/clickhouse/node.h"

namespace clrscope::store {

enum class Cascade : std::uint8_t { kFromView, kFromTable };

// Tries it, in tables that are dropped afterwards.
Result<Cascade> cascade_of(ClickhouseNode& node);

// The views of call paths were made on an older ClickHouse server, and get no rows from this one.
Result<bool> has_stale_views(ClickhouseNode& node, Cascade cascade);
Result<> drop_stale_views(ClickhouseNode& node);

Result<> create_flame_views(ClickhouseNode& node, Cascade cascade);

}  // namespace clrscope::store
