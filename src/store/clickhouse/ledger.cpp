#include "store/clickhouse/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/clickhouse/hash.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kDay = 86'400'000'000'000;

void write_group(ByteWriter& out, const GroupId& group, WallTime now) {
  out.write(group.epoch);
  out.write(group.seq);
  out.write(static_cast<std::uint32_t>(now.time_since_epoch().count() / kDay));
}

// The servers that answered lately go first.
std::vector<ClickhouseNode*> in_order(std::vector<ClickhouseNode*> nodes) {
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const ClickhouseNode* node) { return !node->resting(); });
  return nodes;
}

}  // namespace

std::uint64_t batch_number(std::string_view id) { return hash_of(id); }

bool Ledger::View::has(const GroupId& group) const {
  const auto found = committed.find(group.epoch);
  return found != committed.end() && group.seq <= found->second;
}

std::string Ledger::View::condition() const {
  if (committed.empty()) return "0";
  std::string epochs, last;
  for (const auto& [epoch, seq] : committed) {
    epochs += fmt::format("{}{}", epochs.empty() ? "" : ",", epoch);
    last += fmt::format("{}{}", last.empty() ? "" : ",", seq);
  }
  auto text = fmt::format("seq <= transform(epoch, [{}], [{}], 0)", epochs, last);
  if (losers.empty()) return text;
  text += " AND (epoch, seq, batch) NOT IN (";
  for (const auto& loser : losers)
    text += fmt::format("{}({},{},{})", text.back() == '(' ? "" : ",", loser.group.epoch,
                        loser.group.seq, loser.batch);
  return text + ")";
}

Result<> Ledger::write(const OnNode& on_node) {
  std::size_t done = 0;
  Error last{};
  for (auto* node : in_order(nodes_)) {
    if (done >= most() && node->resting()) break;
    if (const auto one = on_node(*node); one)
      ++done;
    else
      last = one.error();
  }
  if (done >= most()) return {};
  last.what = fmt::format("only {} of {} servers took a write of the ledger: {}", done,
                          nodes_.size(), last.what);
  return fail(std::move(last));
}

Result<> Ledger::read(const OnNode& on_node) {
  std::size_t done = 0;
  Error last{};
  for (auto* node : in_order(nodes_)) {
    if (done >= most()) break;
    if (const auto one = on_node(*node); one)
      ++done;
    else
      last = one.error();
  }
  if (done >= most()) return {};
  last.what =
      fmt::format("only {} of {} servers can read the ledger: {}", done, nodes_.size(), last.what);
  return fail(std::move(last));
}

Result<Ledger::Committed> Ledger::committed() {
  Committed committed;
  const auto ask = [&](ClickhouseNode& node) -> Result<> {
    Rows rows{TRY(node.run("SELECT epoch, max(seq) FROM ledger_commit GROUP BY epoch"))};
    while (rows.more()) {
      const auto epoch = rows.number<std::uint64_t>();
      auto& seq = committed[epoch];
      seq = std::max(seq, rows.number<std::uint32_t>());
    }
    return rows.done();
  };
  TRY(read(ask));
  return committed;
}

// A group writes down its conflicts before it is committed: read in the other order, every
// conflict of what is committed is seen.
Result<Ledger::View> Ledger::view() {
  View view{.committed = TRY(committed())};
  std::map<std::uint64_t, std::set<GroupId>> holders;  // by batch
  const auto ask = [&](ClickhouseNode& node) -> Result<> {
    Rows rows{TRY(node.run("SELECT batch, epoch, seq FROM ledger_conflict"))};
    while (rows.more()) {
      const auto batch = rows.number<std::uint64_t>();
      const auto epoch = rows.number<std::uint64_t>();
      holders[batch].insert({epoch, rows.number<std::uint32_t>()});
    }
    return rows.done();
  };
  TRY(read(ask));
  for (const auto& [batch, groups] : holders) {
    bool won = false;  // the first that is committed
    for (const auto& group : groups) {
      if (!view.has(group)) continue;
      if (won) view.losers.push_back({group, batch});
      won = true;
    }
  }
  return view;
}

Result<std::vector<LedgerEntry>> Ledger::find(std::span<const std::string> batches) {
  if (batches.empty()) return std::vector<LedgerEntry>{};
  std::string ids;
  for (const auto& id : batches) ids += (ids.empty() ? "" : ",") + quoted(id);
  std::set<LedgerEntry> found;
  const auto ask = [&](ClickhouseNode& node) -> Result<> {
    Rows rows{TRY(
        node.run(fmt::format("SELECT id, epoch, seq FROM ledger_batch WHERE id IN ({})", ids)))};
    while (rows.more()) {
      auto id = rows.text();
      const auto epoch = rows.number<std::uint64_t>();
      found.insert({std::move(id), {epoch, rows.number<std::uint32_t>()}});
    }
    return rows.done();
  };
  TRY(read(ask));
  return std::vector<LedgerEntry>{found.begin(), found.end()};
}

Result<> Ledger::note_batches(std::span<const LedgerEntry> entries, WallTime now) {
  if (entries.empty()) return {};
  ByteWriter rows;
  for (const auto& entry : entries) {
    write_text(rows, entry.batch);
    write_group(rows, entry.group, now);
  }
  return write([&](ClickhouseNode& node) -> Result<> {
    TRY(node.run("INSERT INTO ledger_batch (id, epoch, seq, day)", as_text(rows.bytes())));
    return {};
  });
}

Result<> Ledger::note_conflicts(std::span<const LedgerEntry> entries, WallTime now) {
  if (entries.empty()) return {};
  ByteWriter rows;
  for (const auto& entry : entries) {
    rows.write(batch_number(entry.batch));
    write_group(rows, entry.group, now);
  }
  return write([&](ClickhouseNode& node) -> Result<> {
    TRY(node.run("INSERT INTO ledger_conflict (batch, epoch, seq, day)", as_text(rows.bytes())));
    return {};
  });
}

Result<> Ledger::commit(const GroupId& group, WallTime now) {
  ByteWriter row;
  write_group(row, group, now);
  return write([&](ClickhouseNode& node) -> Result<> {
    TRY(node.run("INSERT INTO ledger_commit (epoch, seq, day)", as_text(row.bytes())));
    return {};
  });
}

Result<> Ledger::expire(std::int64_t day) {
  for (auto* node : nodes_)
    for (const auto* table : {"ledger_batch", "ledger_conflict", "ledger_commit"})
      TRY(drop_partitions(*node, table, day));
  return {};
}

}  // namespace clrscope::store
