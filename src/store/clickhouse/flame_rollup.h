// Roll-ups of call paths: flame_5m and flame_1h, filled by materialised views with every insert.
//
// A row has the self time and the calls of one call path of a route in a slot; the row of the call
// path 0 has the requests, the shortest and the longest of them. `weight` 0 are spans and running
// time, 1 CPU samples. Which rows count: rollup.h, docs/adr/0008-clickhouse.md
#pragma once

#include <string_view>

#include "store/clickhouse/rollup.h"

namespace clrscope::store {

inline constexpr RollUp kFlameHours{"flame_1h", 3600, 360, 1};
inline constexpr RollUp kFlameFives{"flame_5m", 300, 30, 1};
inline constexpr std::int64_t kFivesOfHour = 12;

inline constexpr std::string_view kFlameColumns =
    "service String, weight UInt8, method String, route String, slot UInt32, version String, "
    "epoch UInt64, call UInt64, last AggregateFunction(max, UInt32), "
    "self AggregateFunction(sum, UInt64), calls AggregateFunction(count), "
    "shortest AggregateFunction(min, UInt64), longest AggregateFunction(max, UInt64)";
inline constexpr std::string_view kFlameOrder =
    "(service, weight, method, route, slot, version, epoch, call)";

// What the views below read: an insert passes through it, nothing is stored in it. A view that
// joins arrays repeats every column of what it reads, so it must not read `request` itself. The
// elements are spans and after them, beyond `border`, samples, each begun by the call path 0.
// `series` stands for all columns of the key but weight and call path: short keys group faster.
inline constexpr std::string_view kFlameFeed =
    "CREATE TABLE IF NOT EXISTS flame_feed (series UInt64, service String, method String, "
    "route String, slot UInt32, version String, epoch UInt64, seq UInt32, duration UInt64, "
    "border UInt32, item Array(UInt64), own Array(UInt64)) ENGINE = Null";

// {feed} and {fives} are what the view before writes to, or that view itself: cascade.h.
inline constexpr std::string_view kFlameViews[] = {
    "CREATE MATERIALIZED VIEW IF NOT EXISTS request_to_flame_feed TO {db}.flame_feed AS SELECT "
    "cityHash64(service, method, route, intDiv(bucket, 30), version, epoch) AS series, service, "
    "method, route, intDiv(bucket, 30) AS slot, version, epoch, seq, duration, "
    "toUInt32(if(length(span_path) > 0, length(span_path) + 1, 0)) AS border, "
    "arrayConcat(arraySlice([toUInt64(0)], 1, length(span_path) > 0), span_path, "
    "arraySlice([toUInt64(0)], 1, samples > 0), sample_path) AS item, "
    "arrayConcat(arraySlice([toUInt64(0)], 1, length(span_path) > 0), span_self, "
    "arraySlice([toUInt64(0)], 1, samples > 0), sample_weight) AS own "
    "FROM {db}.request WHERE length(span_path) > 0 OR samples > 0",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS flame_feed_to_flame_5m TO {db}.flame_5m AS SELECT "
    "any(service) AS service, weight, any(method) AS method, any(route) AS route, "
    "any(slot) AS slot, any(version) AS version, any(epoch) AS epoch, call, maxState(seq) AS last, "
    "sumState(took) AS self, countState() AS calls, "
    "minState(if(call = 0, duration, toUInt64(0))) AS shortest, "
    "maxState(if(call = 0, duration, toUInt64(0))) AS longest FROM {db}.{feed} "
    "ARRAY JOIN item AS call, own AS took, arrayEnumerate(item) AS place GROUP BY series, "
    "place > border AS weight, call",
    // Of the rows that an insert adds to flame_5m: they are few.
    "CREATE MATERIALIZED VIEW IF NOT EXISTS flame_5m_to_flame_1h TO {db}.flame_1h AS SELECT "
    "service, weight, method, route, intDiv(slot, 12) AS slot, version, epoch, call, "
    "maxMergeState(last) AS last, sumMergeState(self) AS self, countMergeState(calls) AS calls, "
    "minMergeState(shortest) AS shortest, maxMergeState(longest) AS longest FROM {db}.{fives} "
    "GROUP BY service, weight, method, route, slot, version, epoch, call",
};

}  // namespace clrscope::store
