// The calls of many requests as one tree: from roll-ups where they can answer, else from the
// requests.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/flame_rollup.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {
namespace {

struct Node {
  std::uint64_t path = 0, parent = 0;
  std::uint64_t self = 0, calls = 0, total = 0;
  const std::string* method = nullptr;
};

// What the two weights are in the table of requests.
struct Items {
  std::string_view count, columns;
};
Items items_of(FlameWeight weight) {
  if (weight == FlameWeight::kCpu) return {"samples", "sample_path AS item, sample_weight AS own"};
  return {"spans", "span_path AS item, span_self AS own"};
}

// "1,2,3"
std::string list_of(const std::set<std::int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

}  // namespace

struct ClickhouseStore::CallSums {
  std::unordered_map<std::uint64_t, Node> nodes{};
  std::uint64_t requests = 0, items = 0, shortest = 0, longest = 0;
};

Result<ClickhouseStore::CallSums> ClickhouseStore::sums_from_requests(const FlameQuery& query,
                                                                      const Ledger::View& view) {
  CallSums found;
  auto where = this->where(query.selection, view);
  const auto band = TRY(band_of(where, query.from_percentile, query.to_percentile));
  const auto items = items_of(query.weight);
  where += fmt::format(" AND {} > 0 AND duration >= {} AND duration <= {}", items.count, band.low,
                       band.high);
  Rows sums{TRY(select(fmt::format(
      "SELECT count(), sum(toUInt64({})), min(duration), max(duration) FROM {} WHERE {}",
      items.count, schema_.all("request"), where)))};
  for (auto* sum : {&found.requests, &found.items, &found.shortest, &found.longest})
    *sum = sums.number<std::uint64_t>();
  TRY(sums.done());
  if (found.requests == 0) return found;
  Rows rows{TRY(select(
      fmt::format("SELECT item, sum(own), count(), {} FROM {} ARRAY JOIN {} WHERE {} GROUP BY item",
                  kRowEndColumn, schema_.all("request"), items.columns, where)))};
  while (rows.more()) {
    auto& node = found.nodes[rows.number<std::uint64_t>()];
    node.self = rows.number<std::uint64_t>();
    node.calls = rows.number<std::uint64_t>();
    rows.end_row();
  }
  TRY(rows.done());
  return found;
}

// Whole hours, five minutes at their edges and in hours to which rows are being added, and
// requests of what is left. Every part is a slot range of its own: nothing counts twice.
Result<std::optional<ClickhouseStore::CallSums>> ClickhouseStore::sums_from_rollups(
    const FlameQuery& query, const Ledger::View& view) {
  const auto none = std::optional<CallSums>{};
  const auto& selection = query.selection;
  if (query.from_percentile > 0 || query.to_percentile < 100 || !selection.host.empty() ||
      selection.status_from > 0 || selection.status_to < 0xffff || view.committed.empty())
    return none;
  const auto since = flames_since();
  const auto fives = slots_of(selection.range, since, kFlameFives);
  auto hours = slots_of(selection.range, since, kFlameHours);
  if (fives.end <= fives.first) return none;
  if (hours.end <= hours.first) hours = {0, 0};

  auto common = fmt::format("service = {} AND weight = {}", quoted(selection.service),
                            query.weight == FlameWeight::kCpu ? 1 : 0);
  common += route_condition(selection.route);
  if (!selection.version.empty()) common += " AND version = " + quoted(selection.version);

  auto in_hours = fmt::format("{} AND slot >= {} AND slot < {}", common, hours.first, hours.end);
  std::set<std::int64_t> busy{};
  if (hours.end > 0)
    for (const auto& [epoch, hour] : TRY(unsettled(kFlameHours.table, in_hours, view)))
      busy.insert(hour);
  if (busy.size() > kMostUnsettled) return none;
  auto outside =
      fmt::format("slot < {} OR slot >= {}", hours.first * kFivesOfHour, hours.end * kFivesOfHour);
  if (!busy.empty()) {
    in_hours += fmt::format(" AND slot NOT IN ({})", list_of(busy));
    outside += fmt::format(" OR intDiv(slot, {}) IN ({})", kFivesOfHour, list_of(busy));
  }
  auto in_fives = fmt::format("{} AND slot >= {} AND slot < {} AND ({})", common, fives.first,
                              fives.end, outside);
  const auto open = TRY(unsettled(kFlameFives.table, in_fives, view));
  if (open.size() > kMostUnsettled) return none;
  auto others = fmt::format("bucket < {} OR bucket >= {}", fives.first * kFlameFives.buckets,
                            fives.end * kFlameFives.buckets);
  std::string left_out;
  for (const auto& [epoch, slot] : open) {
    others +=
        fmt::format(" OR (bucket >= {} AND bucket < {} AND epoch = {})", slot * kFlameFives.buckets,
                    (slot + std::int64_t{1}) * kFlameFives.buckets, epoch);
    left_out += fmt::format("{}({},{})", left_out.empty() ? "" : ",", epoch, slot);
  }
  if (!left_out.empty()) in_fives += fmt::format(" AND (epoch, slot) NOT IN ({})", left_out);

  const auto rolled = [&](const RollUp& level, const std::string& where) {
    return fmt::format(
        "SELECT call AS item, sumMerge(self) AS took, countMerge(calls) AS times, "
        "minMerge(shortest) AS low, maxMerge(longest) AS high, max({}) AS open_ FROM {} WHERE {} "
        "GROUP BY item",
        is_unsettled(view), schema_.all(level.table), where);
  };
  const auto items = items_of(query.weight);
  const auto where =
      fmt::format("{} AND {} > 0 AND ({})", this->where(selection, view), items.count, others);
  Rows rows{TRY(select(fmt::format(
      "SELECT item, sum(took), sum(times), min(low), max(high), max(open_), {row_end} FROM "
      "({hours} "
      "UNION ALL "
      "{fives} UNION ALL SELECT item, sum(own) AS took, count() AS times, toUInt64(0) AS low, "
      "toUInt64(0) AS high, toUInt8(0) AS open_ FROM {requests} ARRAY JOIN {columns} WHERE {where} "
      "GROUP BY item UNION ALL SELECT toUInt64(0) AS item, toUInt64(0) AS took, count() AS times, "
      "min(duration) AS low, max(duration) AS high, toUInt8(0) AS open_ FROM {requests} WHERE "
      "{where} HAVING times > 0) GROUP BY item",
      fmt::arg("hours", rolled(kFlameHours, in_hours)),
      fmt::arg("fives", rolled(kFlameFives, in_fives)), fmt::arg("columns", items.columns),
      fmt::arg("requests", schema_.all("request")), fmt::arg("where", where),
      fmt::arg("row_end", kRowEndColumn))))};
  CallSums found;
  bool is_open = false;
  while (rows.more()) {
    const auto path = rows.number<std::uint64_t>();
    Node node{};
    for (auto* sum : {&node.self, &node.calls}) *sum = rows.number<std::uint64_t>();
    const auto low = rows.number<std::uint64_t>(), high = rows.number<std::uint64_t>();
    is_open |= rows.number<std::uint8_t>() != 0;
    rows.end_row();
    if (path == 0) {
      found.requests = node.calls, found.shortest = low, found.longest = high;
    } else {
      found.items += node.calls;
      found.nodes[path] = node;
    }
  }
  TRY(rows.done());
  if (is_open) return none;  // a group arrived between the queries
  return std::optional<CallSums>{std::move(found)};
}

Result<Flame> ClickhouseStore::flame(const FlameQuery& query) {
  TRY(check_band(query.from_percentile, query.to_percentile));
  Flame flame;
  if (query.selection.service.empty()) return flame;
  const auto view = TRY(ledger_.view());
  auto sums = TRY(sums_from_rollups(query, view));
  if (!sums) sums = TRY(sums_from_requests(query, view));
  flame.requests = sums->requests;
  (query.weight == FlameWeight::kCpu ? flame.samples : flame.spans) = sums->items;
  flame.shortest = ns(sums->shortest);
  flame.longest = ns(sums->longest);
  if (flame.requests == 0) return flame;
  auto& nodes = sums->nodes;
  std::vector<std::uint64_t> wanted;
  for (const auto& [path, node] : nodes) wanted.push_back(path);
  const auto known = TRY(paths_of(std::move(wanted)));

  std::unordered_map<std::uint64_t, std::vector<Node*>> children;  // by parent
  for (const auto& [path, call] : known) {  // callers too, whose own calls are not selected
    auto& node = nodes[path];
    node.path = path, node.parent = call.parent, node.method = &call.method;
  }
  for (auto& [path, node] : nodes) children[node.parent].push_back(&node);
  // Callers before their callees; totals from the end.
  std::vector<Node*> order = children[0];
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const auto own = children.find(order[i]->path); own != children.end())
      order.insert(order.end(), own->second.begin(), own->second.end());
  std::uint64_t total = 0;
  for (auto i = order.size(); i-- > 0;) {
    order[i]->total += order[i]->self;
    (order[i]->parent == 0 ? total : nodes[order[i]->parent].total) += order[i]->total;
  }
  flame.total = ns(total);
  for (auto& [parent, list] : children)
    std::sort(list.begin(), list.end(), [](const Node* a, const Node* b) {  // the largest last
      return a->total != b->total ? a->total < b->total : *a->method > *b->method;
    });
  struct Open {
    const Node* node;
    std::uint32_t depth;
  };
  std::vector<Open> open;
  std::unordered_map<std::string_view, std::uint32_t> indexes;
  const auto push_children = [&](std::uint64_t path, std::uint32_t depth) {
    if (const auto own = children.find(path); own != children.end())
      for (const auto* node : own->second) open.push_back({node, depth});
  };
  push_children(0, 0);
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    const auto [index, is_new] =
        indexes.try_emplace(*node->method, static_cast<std::uint32_t>(flame.names.size()));
    if (is_new) flame.names.push_back(*node->method);
    flame.name.push_back(index->second);
    flame.depth.push_back(depth);
    flame.self_ns.push_back(node->self);
    flame.calls.push_back(node->calls);
    push_children(node->path, depth + 1);
  }
  return flame;
}

}  // namespace clrscope::store
