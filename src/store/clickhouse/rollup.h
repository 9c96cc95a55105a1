// Roll-ups of requests: latency_5m and latency_1h, filled by materialised views with every insert.
//
// A row sums up all groups of an epoch. Groups of an epoch are committed in order, and `last` is
// the last group in the row: if that one is committed, all of the row counts; if not, the requests
// themselves are asked. docs/adr/0008-clickhouse.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/answers.h"
#include "store/clickhouse/ledger.h"

namespace clrscope::store {

struct RollUp {
  std::string_view table;
  std::int64_t seconds = 0;  // of a slot
  std::int64_t buckets = 0;  // of ten seconds, in a slot
  std::int64_t least = 0;    // slots for which it is worth asking
};
inline constexpr RollUp kRollUps[] = {{"latency_1h", 3600, 360, 12}, {"latency_5m", 300, 30, 2}};

inline constexpr std::size_t kMostUnsettled = 500;  // slots: then the requests are asked

// Whole slots of a range, in roll-ups that are complete from `since` (unix seconds) on.
struct SlotRange {
  std::int64_t first = 0, end = 0;
};
SlotRange slots_of(const TimeRange& range, std::int64_t since, const RollUp& level);

// Whether a row of a roll-up holds a group that is not committed, or of an epoch with a batch that
// does not count, in SQL. Asked of the rows that a query sums up, in the same query: another one
// may be answered by a replica that is behind.
std::string is_unsettled(const Ledger::View& view);

// What a roll-up keeps of requests, as columns with that ending.
std::string rollup_states(std::string_view ending = {});

// " AND …" of the route of a selection: "GET /orders/{id}", or "/orders/{id}" alone.
std::string route_condition(const std::string& route);

}  // namespace clrscope::store
