#include "store/clickhouse/rollup.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/clickhouse_store.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct Columns {
  std::string_view first, second;
};

std::optional<Columns> columns_of(GroupBy by) {
  switch (by) {
    case GroupBy::kService:
      return Columns{"service", "''"};
    case GroupBy::kVersion:
      return Columns{"version", "''"};
    case GroupBy::kRoute:
      return Columns{"method", "route"};
    case GroupBy::kHost:
    case GroupBy::kStatus:
      break;
  }
  return std::nullopt;
}

// The same columns again, of rows that were summed up before.
constexpr std::string_view kAgain =
    "countMergeState(requests) AS requests_, sumMergeState(errors) AS errors_, "
    "sumMergeState(sampled) AS sampled_, "
    "quantilesExactWeightedMergeState(0.5, 0.9, 0.95, 0.99)(ranks) AS ranks_, "
    "maxMergeState(longest) AS longest_, sumMergeState(ran) AS ran_, "
    "sumMergeState(waited) AS waited_, sumMergeState(in_queue) AS in_queue_, "
    "minMergeState(first) AS first_";
constexpr std::string_view kFinally =
    "countMerge(requests_), sumMerge(errors_), sumMerge(sampled_), "
    "quantilesExactWeightedMerge(0.5, 0.9, 0.95, 0.99)(ranks_), maxMerge(longest_), "
    "sumMerge(ran_), sumMerge(waited_), sumMerge(in_queue_)";

const RollUp* level_for(const SeriesQuery& query, std::int64_t since) {
  const auto& selection = query.selection;
  if (query.cpu || !query.percentiles.empty() || !selection.host.empty() ||
      selection.status_from > 0 || selection.status_to < 0xffff || !columns_of(query.by))
    return nullptr;
  if (selection.range.from > std::numeric_limits<std::int64_t>::max() - 3600 * kSecond)
    return nullptr;
  for (const auto& level : kRollUps) {
    if (query.step.count() % (level.seconds * kSecond) != 0) continue;
    const auto slots = slots_of(selection.range, since, level);
    if (slots.end - slots.first >= level.least) return &level;
  }
  return nullptr;
}

// "[epochs], [their last committed groups]"
std::string committed_of(const Ledger::View& view) {
  std::string epochs, last;
  for (const auto& [epoch, seq] : view.committed) {
    epochs += fmt::format("{}{}", epochs.empty() ? "" : ",", epoch);
    last += fmt::format("{}{}", last.empty() ? "" : ",", seq);
  }
  return fmt::format("[{}], [{}]", epochs, last);
}

// " OR epoch IN (…)" of the epochs that have a batch that does not count.
std::string or_loses(const Ledger::View& view) {
  std::set<std::uint64_t> epochs;
  for (const auto& loser : view.losers) epochs.insert(loser.group.epoch);
  return epochs.empty() ? "" : fmt::format(" OR epoch IN ({})", fmt::join(epochs, ","));
}

}  // namespace

SlotRange slots_of(const TimeRange& range, std::int64_t since, const RollUp& level) {
  constexpr std::int64_t kEnd = 0xffff'ffff;  // of the column
  const auto size = level.seconds * kSecond;
  const auto from = std::max<std::int64_t>({range.from, since * kSecond, 0});
  return {(from - 1) / size + (from > 0 ? 1 : 0), std::min(range.to / size, kEnd)};
}

std::string is_unsettled(const Ledger::View& view) {
  return fmt::format("finalizeAggregation(last) > transform(epoch, {}, 0){}", committed_of(view),
                     or_loses(view));
}

std::string rollup_states(std::string_view ending) {
  return fmt::format(
      "countState() AS requests{0}, sumState(toUInt64(status >= 500 OR error != '')) AS errors{0}, "
      "sumState(toUInt64(bitAnd(flags, 1))) AS sampled{0}, "
      "quantilesExactWeightedState(0.5, 0.9, 0.95, 0.99)(duration, toUInt8(1)) AS ranks{0}, "
      "maxState(duration) AS longest{0}, sumState(running) AS ran{0}, "
      "sumState(waiting) AS waited{0}, sumState(queued) AS in_queue{0}",
      ending);
}

Result<ClickhouseStore::Slots> ClickhouseStore::unsettled(std::string_view table,
                                                          const std::string& where,
                                                          const Ledger::View& view) {
  Rows rows{TRY(select(fmt::format(
      "SELECT epoch, slot FROM (SELECT epoch, slot, maxMerge(last) AS seen FROM {} WHERE {} "
      "GROUP BY epoch, slot) WHERE seen > transform(epoch, {}, 0){} ORDER BY epoch, slot",
      schema_.all(table), where, committed_of(view), or_loses(view))))};
  Slots found;
  while (rows.more()) {
    const auto epoch = rows.number<std::uint64_t>();
    found.emplace_back(epoch, rows.number<std::uint32_t>());
  }
  TRY(rows.done());
  return found;
}

Result<std::optional<Pieces>> ClickhouseStore::from_rollups(const SeriesQuery& query, Points points,
                                                            const Ledger::View& view,
                                                            std::uint64_t limit) {
  const auto none = std::optional<Pieces>{};
  const auto since = rolled_since();
  const auto* level = level_for(query, since);
  if (level == nullptr || view.committed.empty()) return none;
  const auto& selection = query.selection;
  const auto slots = slots_of(selection.range, since, *level);
  auto rolled = fmt::format("slot >= {} AND slot < {}", slots.first, slots.end);
  if (!selection.service.empty()) rolled += " AND service = " + quoted(selection.service);
  const auto open = TRY(unsettled(level->table, rolled, view));
  if (open.size() > kMostUnsettled) return none;

  // Requests of the edges of the range and of unsettled slots, roll-ups of all else.
  auto others = fmt::format("bucket < {} OR bucket >= {}", slots.first * level->buckets,
                            slots.end * level->buckets);
  std::string left_out;
  for (const auto& [epoch, slot] : open) {
    others += fmt::format(" OR (bucket >= {} AND bucket < {} AND epoch = {})",
                          slot * level->buckets, (slot + 1) * level->buckets, epoch);
    left_out += fmt::format("{}({},{})", left_out.empty() ? "" : ",", epoch, slot);
  }
  auto settled = rolled + route_condition(selection.route);
  if (!selection.version.empty()) settled += " AND version = " + quoted(selection.version);
  if (!left_out.empty()) settled += fmt::format(" AND (epoch, slot) NOT IN ({})", left_out);

  const auto [first, second] = *columns_of(query.by);
  const bool steps = points == Points::kSteps;
  const auto point = [&](const std::string& time) {
    return steps ? fmt::format(", intDiv({}, {}) AS point", time, query.step.count())
                 : std::string{};
  };
  const std::string_view by = steps ? "k1, k2, point" : "k1, k2";
  const auto sql = fmt::format(
      "SELECT max(open_) AS open, {by}, {finally}{more}, {row_end} FROM (SELECT {first} AS k1, "
      "{second} AS "
      "k2{slot}, {again}, max({unsettled}) AS open_ FROM {table} WHERE {settled} GROUP BY {by} "
      "UNION ALL SELECT {first} AS k1, {second} AS k2{begin}, {states}, minState(begin) AS first_, "
      "toUInt8(0) AS open_ FROM {requests} WHERE {where} AND ({others}) GROUP BY {by}) GROUP BY "
      "{by} ORDER BY open DESC{order}",
      fmt::arg("by", by), fmt::arg("finally", kFinally),
      fmt::arg("more", steps ? "" : ", minMerge(first_), emptyArrayUInt64()"),
      fmt::arg("first", first), fmt::arg("second", second),
      fmt::arg("slot", point(fmt::format("toInt64(slot) * {}", level->seconds * kSecond))),
      fmt::arg("again", kAgain), fmt::arg("table", schema_.all(level->table)),
      fmt::arg("settled", settled), fmt::arg("begin", point("begin")),
      fmt::arg("states", rollup_states("_")), fmt::arg("requests", schema_.all("request")),
      fmt::arg("where", where(selection, view)), fmt::arg("others", others),
      fmt::arg("order", steps ? ", point" : ""), fmt::arg("row_end", kRowEndColumn),
      fmt::arg("unsettled", is_unsettled(view)));
  auto body = TRY(select(sql, limit));
  // A group that arrived meanwhile is in what was summed up: such rows come first.
  if (!body.held.empty() && body.held.front() != 0) return none;
  return std::optional<Pieces>{std::move(body)};
}

}  // namespace clrscope::store
