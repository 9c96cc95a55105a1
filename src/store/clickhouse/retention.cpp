// What is deleted because it is old, or because the store has become too large.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "store/clickhouse/clickhouse_store.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kDay = 86'400'000'000'000;

using Process = std::tuple<std::string, std::string, std::string>;  // service, host, instance

Result<std::set<Process>> read_processes(ClickhouseNode& node, const std::string& sql) {
  Rows rows{TRY(node.select(sql))};
  std::set<Process> found;
  while (rows.more()) {
    auto service = rows.text(), host = rows.text();
    found.emplace(std::move(service), std::move(host), rows.text());
  }
  TRY(rows.done());
  return found;
}

// "('shop','web-1','0A'),…"
std::string list_of(const std::set<Process>& processes) {
  std::string list;
  for (const auto& [service, host, instance] : processes)
    list += fmt::format("{}({},{},{})", list.empty() ? "" : ",", quoted(service), quoted(host),
                        quoted(instance));
  return list;
}

Result<bool> is_deleting(ClickhouseNode& node) {
  Rows rows{TRY(node.run(
      fmt::format("SELECT count() FROM system.mutations WHERE database = {} AND table = 'source' "
                  "AND NOT is_done",
                  quoted(node.database()))))};
  const bool is = rows.number<std::uint64_t>() > 0;
  TRY(rows.done());
  return is;
}

// What --max-size can delete, by day, and what it cannot.
struct Sizes {
  std::map<std::int64_t, std::uint64_t> days{};
  std::uint64_t all_days = 0, rest = 0;
};

Result<> add_sizes(ClickhouseNode& node, Sizes& sizes) {
  Rows rows{
      TRY(node.run(fmt::format("SELECT table, toInt64OrZero(partition) AS day, sum(bytes_on_disk) "
                               "FROM system.parts WHERE active AND database = {} GROUP BY table, "
                               "day",
                               quoted(node.database()))))};
  while (rows.more()) {
    const auto table = rows.text();
    const auto day = rows.number<std::int64_t>();
    const auto bytes = rows.number<std::uint64_t>();
    const bool is_by_day = std::ranges::find(kTablesByDay, table) != std::end(kTablesByDay);
    if (is_by_day) sizes.days[day] += bytes;
    (is_by_day ? sizes.all_days : sizes.rest) += bytes;
  }
  TRY(rows.done());
  return {};
}

}  // namespace

// They are few and small: rows are deleted, not partitions, whose other processes may be alive. A
// replica that was away lacks the latest rows of processes that live: all servers are asked.
Result<bool> ClickhouseStore::delete_sources(std::int64_t day) {
  constexpr int kAtOnce = 1000;  // the text of a deletion must fit into a node of ZooKeeper
  const auto oldest = day * kDay;
  for (const auto& node : nodes_)
    if (TRY(is_deleting(*node))) return false;
  std::vector<std::set<Process>> silent;  // by server
  std::set<Process> gone;
  for (const auto& node : nodes_) {
    silent.push_back(TRY(read_processes(
        *node, fmt::format("SELECT service, host, hex(instance) AS process FROM source GROUP BY "
                           "service, host, process HAVING max(received) < {} ORDER BY service, "
                           "host, process LIMIT {}",
                           oldest, kAtOnce))));
    gone.insert(silent.back().begin(), silent.back().end());
  }
  if (gone.empty()) return true;
  const auto candidates = list_of(gone);
  for (const auto& node : nodes_)
    for (const auto& alive : TRY(read_processes(
             *node, fmt::format("SELECT DISTINCT service, host, hex(instance) AS process FROM "
                                "source WHERE received >= {} AND (service, host, hex(instance)) IN "
                                "({})",
                                oldest, candidates))))
      gone.erase(alive);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    std::erase_if(silent[i], [&](const Process& one) { return !gone.contains(one); });
    if (silent[i].empty()) continue;
    TRY(nodes_[i]->run(fmt::format(
        "ALTER TABLE source DELETE WHERE received < {} AND (service, host, hex(instance)) IN ({})",
        oldest, list_of(silent[i]))));
  }
  return false;
}

// The counts of a process are kept as long as it sends, and a day longer than its requests.
Result<> ClickhouseStore::expire_sources(std::int64_t day, WallTime now) {
  if (sources_expired_ == day) return {};
  const bool done = TRY(delete_sources(day - 1));
  std::set<std::uint64_t> epochs;
  for (const auto& node : nodes_) {
    Rows rows{TRY(node->select("SELECT DISTINCT epoch FROM source"))};
    while (rows.more()) epochs.insert(rows.number<std::uint64_t>());
    TRY(rows.done());
  }
  // The ledger outlives the rows, which are up to a day ahead of it.
  TRY(ledger_.expire(day - 2, epochs, now));
  if (done) sources_expired_ = day;
  return {};
}

// Whole days, the oldest first; never today, which would be empty all the time.
Result<> ClickhouseStore::shrink_to(std::uint64_t most, std::int64_t today) {
  Sizes sizes;
  auto outcome = on_each([&](ClickhouseNode& node) { return add_sizes(node, sizes); });
  auto left = sizes.all_days;
  auto day = sizes.days.begin();
  for (; day != sizes.days.end() && day->first < today && left > most; ++day) left -= day->second;
  if (day != sizes.days.begin())
    if (auto done = drop_before(std::prev(day)->first + 1); !done) return done;
  if (!outcome) return outcome;
  if (sizes.rest > most)
    return fail(Errc::kNoRoom,
                "the store has {} of call paths, processes and ledger, which --max-size ({}) "
                "cannot delete",
                format_bytes(sizes.rest), format_bytes(most))
        .hint("raise --max-size; requests are deleted as if it limited them alone");
  if (left > most)
    return fail(Errc::kNoRoom, "today's requests take {}, more than --max-size ({})",
                format_bytes(left), format_bytes(most))
        .hint("raise --max-size; the requests of today are never deleted");
  return {};
}

Result<> ClickhouseStore::drop_before(std::int64_t day) {
  return on_each([day](ClickhouseNode& node) -> Result<> {
    for (const auto* table : kTablesByDay) TRY(drop_partitions(node, table, day));
    return {};
  });
}

// Whole days: a partition is dropped when all of it is past its retention.
Result<> ClickhouseStore::expire(WallTime now) {
  const auto retention = this->retention();
  const auto oldest = (now.time_since_epoch().count() - retention.age.count()) / kDay;
  auto outcome = read_since();
  if (auto dropped = drop_before(oldest); !dropped) outcome = std::move(dropped);
  if (outcome) outcome = expire_sources(oldest, now);
  if (retention.max_bytes == ~std::uint64_t{0}) return outcome;
  auto shrunk = shrink_to(retention.max_bytes, now.time_since_epoch().count() / kDay);
  return outcome ? shrunk : outcome;
}

}  // namespace clrscope::store
