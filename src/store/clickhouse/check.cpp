// Compares the materialised views with the table of requests, day by day.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/flame_rollup.h"
#include "store/clickhouse/rollup.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {
namespace {

constexpr std::size_t kMostListed = 100;
constexpr std::int64_t kBucketsOfDay = 8640, kBucketsOfHour = 360;

// (service, epoch, slot) → numbers as text.
using Sums = std::map<std::tuple<std::string, std::uint64_t, std::uint32_t>, std::string>;

Result<Sums> read_sums(Result<Pieces> body) {
  Rows rows{TRY(std::move(body))};
  Sums sums;
  while (rows.more()) {
    auto service = rows.text();
    const auto epoch = rows.number<std::uint64_t>();
    const auto slot = rows.number<std::uint32_t>();
    sums[{std::move(service), epoch, slot}] = rows.text();
  }
  TRY(rows.done());
  return sums;
}

struct Compared {
  std::string_view table;
  std::int64_t seconds = 0;  // of a slot
};

void compare(const Compared& what, Sums requests, Sums view, StoreCheck& check) {
  for (const auto& [key, numbers] : requests) view.try_emplace(key);
  for (const auto& [key, numbers] : view) {
    ++check.compared;
    const auto& expected = requests[key];
    if (numbers == expected) continue;
    ++check.different;
    const auto& [service, epoch, slot] = key;
    if (check.differences.size() < kMostListed)
      check.differences.push_back({.table = std::string{what.table},
                                   .service = service,
                                   .time = WallTime{std::chrono::seconds{slot * what.seconds}},
                                   .requests = expected.empty() ? "nothing" : expected,
                                   .view = numbers.empty() ? "nothing" : numbers});
  }
}

// Numbers as one text, in both engines and tables alike.
std::string text_of(std::initializer_list<std::string_view> numbers) {
  std::string text = "concat(";
  for (const auto one : numbers)
    text += fmt::format("{}toString({})", text.ends_with('(') ? "" : ", ' ', ", one);
  return text + ")";
}

// Slots that may hold rows that do not count.
void leave_out(const std::vector<std::pair<std::uint64_t, std::uint32_t>>& open,
               const Ledger::View& view, Sums& requests, Sums& sums) {
  const std::set<std::pair<std::uint64_t, std::uint32_t>> slots{open.begin(), open.end()};
  for (auto* one : {&sums, &requests})
    std::erase_if(*one, [&](const auto& entry) {
      const auto& [service, epoch, slot] = entry.first;
      return slots.contains({epoch, slot}) || !view.committed.contains(epoch);
    });
}

}  // namespace

Result<> ClickhouseStore::check_day(std::int64_t day, StoreCheck& check) {
  const auto view = TRY(ledger_.view());
  if (view.committed.empty()) return {};
  const auto in_day =
      fmt::format("bucket >= {} AND bucket < {}", day * kBucketsOfDay, (day + 1) * kBucketsOfDay);
  const auto counted = [&](std::string_view table, const std::string& more,
                           const std::string& numbers) -> Result<Sums> {
    return read_sums(select(fmt::format(
        "SELECT service, toUInt64(0), intDiv(bucket, {}) AS slot, {} FROM {} WHERE {}{} AND {} "
        "GROUP BY service, slot",
        kBucketsOfHour, numbers, schema_.all(table), in_day, more, view.condition())));
  };
  compare({"service_10s", 3600},
          TRY(counted("request", "",
                      text_of({"count()", "sum(bitAnd(flags, 1))",
                               "sum(status >= 500 OR error != '')", "sum(toUInt64(spans))"}))),
          TRY(counted("service_10s", "",
                      text_of({"sum(requests)", "sum(sampled)", "sum(errors)", "sum(spans)"}))),
          check);
  const auto traces = text_of({"count()", "sum(cityHash64(trace, bucket, batch))"});
  compare({"trace", 3600}, TRY(counted("request", " AND bitAnd(flags, 1) = 1", traces)),
          TRY(counted("trace", "", traces)), check);

  for (const auto& level : kRollUps) {
    const auto per_day = kBucketsOfDay / level.buckets;
    const auto first =
        std::max(day * per_day, (rolled_since() + level.seconds - 1) / level.seconds);
    if (first >= (day + 1) * per_day) continue;
    const auto slots = fmt::format("slot >= {} AND slot < {}", first, (day + 1) * per_day);
    auto sums = TRY(read_sums(select(fmt::format(
        "SELECT service, epoch, slot, {} FROM {} WHERE {} GROUP BY service, epoch, slot",
        text_of({"countMerge(requests)", "sumMerge(errors)", "sumMerge(sampled)",
                 "arrayStringConcat(arrayMap(x -> toString(x), "
                 "quantilesExactWeightedMerge(0.5, 0.9, 0.95, 0.99)(ranks)), ' ')",
                 "maxMerge(longest)", "sumMerge(ran)", "sumMerge(waited)", "sumMerge(in_queue)",
                 "minMerge(first)"}),
        schema_.all(level.table), slots))));
    auto requests = TRY(read_sums(select(fmt::format(
        "SELECT service, epoch, intDiv(bucket, {}) AS slot, {} FROM {} WHERE {} AND {} AND {} "
        "GROUP BY service, epoch, slot",
        level.buckets,
        text_of({"count()", "sum(status >= 500 OR error != '')", "sum(bitAnd(flags, 1))",
                 "arrayStringConcat(arrayMap(x -> toString(x), "
                 "quantilesExactWeighted(0.5, 0.9, 0.95, 0.99)(duration, 1)), ' ')",
                 "max(duration)", "sum(running)", "sum(waiting)", "sum(queued)", "min(begin)"}),
        schema_.all("request"), in_day, slots, view.condition()))));
    // Asked last: slots that an insert changed meanwhile are among them.
    const auto open = TRY(unsettled(level.table, slots, view));
    check.unsettled += open.size();
    leave_out(open, view, requests, sums);
    compare({level.table, level.seconds}, std::move(requests), std::move(sums), check);
  }
  for (const auto& level : {kFlameFives, kFlameHours}) TRY(check_flames(day, level, view, check));
  return {};
}

// Calls, self times, call paths and requests by slot. Sums of UInt64 wrap around alike on both
// sides.
Result<> ClickhouseStore::check_flames(std::int64_t day, const RollUp& level,
                                       const Ledger::View& view, StoreCheck& check) {
  const auto per_day = kBucketsOfDay / level.buckets;
  const auto first = std::max(day * per_day, (flames_since() + level.seconds - 1) / level.seconds);
  if (first >= (day + 1) * per_day) return {};
  const auto slots = fmt::format("slot >= {} AND slot < {}", first, (day + 1) * per_day);
  auto sums = TRY(read_sums(select(fmt::format(
      "SELECT service, epoch, slot, {} FROM (SELECT service, epoch, slot, weight, call, "
      "sumMerge(self) AS took, countMerge(calls) AS times, minMerge(shortest) AS low, "
      "maxMerge(longest) AS high FROM {} WHERE {} GROUP BY service, epoch, slot, weight, call) "
      "GROUP BY service, epoch, slot",
      text_of({"sumIf(times, weight = 0 AND call != 0)", "sumIf(took, weight = 0)",
               "sumIf(times, weight = 1 AND call != 0)", "sumIf(took, weight = 1)",
               "sum(call * times)", "sumIf(times, weight = 0 AND call = 0)",
               "sumIf(times, weight = 1 AND call = 0)", "sumIf(low, weight = 0 AND call = 0)",
               "sumIf(high, weight = 1 AND call = 0)"}),
      schema_.all(level.table), slots))));
  auto requests = TRY(read_sums(select(fmt::format(
      "SELECT service, epoch, intDiv(bucket, {0}) AS slot, {1} FROM {2} WHERE (spans > 0 OR "
      "samples > 0) AND bucket >= {3} AND bucket < {4} AND {5} GROUP BY service, epoch, slot",
      level.buckets,
      text_of({"sum(toUInt64(spans))", "sum(arraySum(span_self))", "sum(toUInt64(samples))",
               "sum(arraySum(sample_weight))", "sum(arraySum(span_path) + arraySum(sample_path))",
               "countIf(spans > 0)", "countIf(samples > 0)", "minIf(duration, spans > 0)",
               "maxIf(duration, samples > 0)"}),
      schema_.all("request"), first * level.buckets, (day + 1) * kBucketsOfDay,
      view.condition()))));
  const auto open = TRY(unsettled(level.table, slots, view));
  check.unsettled += open.size();
  leave_out(open, view, requests, sums);
  compare({level.table, level.seconds}, std::move(requests), std::move(sums), check);
  return {};
}

Result<StoreCheck> ClickhouseStore::check() {
  std::set<std::int64_t> days;
  for (const auto& node : nodes_)
    for (const auto* table : kTablesByDay) {
      Rows rows{TRY(node->run(fmt::format(
          "SELECT DISTINCT toInt64(partition) FROM system.parts WHERE active AND database = {} "
          "AND table = {}",
          quoted(node->database()), quoted(table))))};
      while (rows.more()) days.insert(rows.number<std::int64_t>());
      TRY(rows.done());
    }
  StoreCheck check;
  for (const auto day : days) {
    // A replica may be behind for a moment: what differs is looked at again.
    constexpr int kLooks = 3;
    for (int look = 1; look <= kLooks; ++look) {
      auto found = check;
      TRY(check_day(day, found));
      const bool agrees = found.different == check.different;
      if (agrees || look == kLooks) check = std::move(found);
      if (agrees) break;
    }
  }
  return check;
}

}  // namespace clrscope::store
