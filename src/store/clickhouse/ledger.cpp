#include "store/clickhouse/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "store/clickhouse/hash.h"
#include "store/clickhouse/schema.h"

namespace clrscope::store {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kDay = 86'400'000'000'000;

void write_group(ByteWriter& out, const GroupId& group, WallTime now) {
  out.write(group.epoch);
  out.write(group.seq);
  out.write(static_cast<std::uint32_t>(now.time_since_epoch().count() / kDay));
}

constexpr std::chrono::milliseconds kGrace{300};  // more than a server takes that does not hang

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

// What the holders of the ledger answered to one question.
struct Ledger::Asking {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::vector<std::string> answers{};
  std::size_t failed = 0;
  Error last{Errc::kSystem, "it does not answer"};
  std::set<Holder*> waited_for{};
  bool over = false;
};

Ledger::Ledger(std::span<ClickhouseNode* const> nodes) {
  for (auto* node : nodes) holders_.emplace_back(node);
}

std::vector<Ledger::Holder*> Ledger::in_order() {
  std::vector<Holder*> out;
  for (auto& holder : holders_) out.push_back(&holder);
  std::ranges::stable_partition(
      out, [](const Holder* one) { return one->late == 0 && !one->node->resting(); });
  return out;
}

void Ledger::begin(Holder& holder, const std::shared_ptr<Asking>& asking,
                   const Question& question) {
  asking->waited_for.insert(&holder);
  auto one = std::async(std::launch::async, [&holder, asking, question] {
    auto answer = question(*holder.node);
    const std::lock_guard lock{asking->mutex};
    if (asking->over) --holder.late;
    asking->waited_for.erase(&holder);
    if (answer) {
      asking->answers.push_back(*std::move(answer));
    } else {
      ++asking->failed;
      asking->last = answer.error();
    }
    asking->changed.notify_one();
  });
  under_way_.with([&](auto& under_way) {
    std::erase_if(under_way,
                  [](auto& old) { return old.wait_for(0s) == std::future_status::ready; });
    under_way.push_back(std::move(one));
  });
}

// The first `at_once`, then one more whenever too few are left or none answers for kGrace. With
// enough answers the others are waited for until `patience` has passed.
Result<std::vector<std::string>> Ledger::ask(std::size_t at_once, std::chrono::nanoseconds patience,
                                             const Question& question) {
  const auto asking = std::make_shared<Asking>();
  const auto order = in_order();
  std::size_t begun = 0;
  std::unique_lock lock{asking->mutex};
  while (begun < at_once) begin(*order[begun++], asking, question);
  const Deadline enough{patience};
  for (;;) {
    const bool has_answers = asking->answers.size() >= most();
    if (asking->waited_for.empty() && (has_answers || begun == order.size())) break;
    if (has_answers && enough.passed()) break;
    if (!has_answers && begun < order.size() && begun - asking->failed < most()) {
      begin(*order[begun++], asking, question);
      continue;
    }
    if (!has_answers && begun == order.size()) {
      asking->changed.wait(lock);
      continue;
    }
    const auto more = asking->changed.wait_for(lock, has_answers ? enough.left() : kGrace);
    if (!has_answers && more == std::cv_status::timeout) begin(*order[begun++], asking, question);
  }
  asking->over = true;
  for (auto* holder : asking->waited_for) ++holder->late;
  if (asking->answers.size() >= most()) return std::move(asking->answers);
  return fail(asking->last);
}

Result<> Ledger::write(std::string into, const ByteWriter& rows) {
  const auto order = in_order();
  const auto fresh = std::ranges::count_if(
      order, [](const Holder* one) { return one->late == 0 && !one->node->resting(); });
  auto done =
      ask(std::max<std::size_t>(fresh, most()), kGrace,
          [into = "INSERT INTO " + std::move(into), text = std::string{as_text(rows.bytes())}](
              ClickhouseNode& node) { return node.run(into, text); });
  if (done) return {};
  auto error = std::move(done).error();
  error.what = fmt::format("too few of {} servers took a write of the ledger: {}", holders_.size(),
                           error.what);
  return fail(std::move(error));
}

Result<> Ledger::read(const std::string& sql, const Take& take) {
  auto answers =
      ask(most(), std::chrono::nanoseconds::zero(), [sql](auto& node) { return node.run(sql); });
  if (!answers) {
    auto error = std::move(answers).error();
    error.what =
        fmt::format("too few of {} servers can read the ledger: {}", holders_.size(), error.what);
    return fail(std::move(error));
  }
  for (auto& answer : *answers) {
    Rows rows{std::move(answer)};
    while (rows.more()) take(rows);
    TRY(rows.done());
  }
  return {};
}

Result<Ledger::Committed> Ledger::committed() {
  Committed committed;
  TRY(read("SELECT epoch, max(seq) FROM ledger_commit GROUP BY epoch", [&](Rows& rows) {
    const auto epoch = rows.number<std::uint64_t>();
    auto& seq = committed[epoch];
    seq = std::max(seq, rows.number<std::uint32_t>());
  }));
  return committed;
}

// A group writes down its conflicts before it is committed: read in the other order, every
// conflict of what is committed is seen.
Result<Ledger::View> Ledger::view() {
  View view{.committed = TRY(committed())};
  std::map<std::uint64_t, std::set<GroupId>> holders;  // by batch
  TRY(read("SELECT batch, epoch, seq FROM ledger_conflict", [&](Rows& rows) {
    const auto batch = rows.number<std::uint64_t>();
    const auto epoch = rows.number<std::uint64_t>();
    holders[batch].insert({epoch, rows.number<std::uint32_t>()});
  }));
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
  TRY(read(fmt::format("SELECT id, epoch, seq FROM ledger_batch WHERE id IN ({})", ids),
           [&](Rows& rows) {
             auto id = rows.text();
             const auto epoch = rows.number<std::uint64_t>();
             found.insert({std::move(id), {epoch, rows.number<std::uint32_t>()}});
           }));
  return std::vector<LedgerEntry>{found.begin(), found.end()};
}

Result<> Ledger::note_batches(std::span<const LedgerEntry> entries, WallTime now) {
  if (entries.empty()) return {};
  ByteWriter rows;
  for (const auto& entry : entries) {
    write_text(rows, entry.batch);
    write_group(rows, entry.group, now);
  }
  return write("ledger_batch (id, epoch, seq, day)", rows);
}

Result<> Ledger::note_conflicts(std::span<const LedgerEntry> entries, WallTime now) {
  if (entries.empty()) return {};
  ByteWriter rows;
  for (const auto& entry : entries) {
    rows.write(batch_number(entry.batch));
    write_group(rows, entry.group, now);
  }
  return write("ledger_conflict (batch, epoch, seq, day)", rows);
}

Result<> Ledger::commit(const GroupId& group, WallTime now) {
  ByteWriter row;
  write_group(row, group, now);
  return write("ledger_commit (epoch, seq, day)", row);
}

// Rows of living processes outlive the requests: the commits and conflicts of their epochs must,
// too. What has a row of a later day needs nothing.
Result<> Ledger::keep(std::int64_t day, const std::set<std::uint64_t>& epochs, WallTime now) {
  const auto list = fmt::format("{}", fmt::join(epochs, ","));
  Committed commits;
  TRY(read(fmt::format("SELECT epoch, max(seq) FROM ledger_commit WHERE epoch IN ({}) GROUP BY "
                       "epoch HAVING max(day) < {}",
                       list, day),
           [&](Rows& rows) {
             const auto epoch = rows.number<std::uint64_t>();
             auto& seq = commits[epoch];
             seq = std::max(seq, rows.number<std::uint32_t>());
           }));
  std::set<std::pair<std::uint64_t, GroupId>> conflicts;
  TRY(read(fmt::format("SELECT batch, epoch, seq FROM ledger_conflict WHERE epoch IN ({}) GROUP BY "
                       "batch, epoch, seq HAVING max(day) < {}",
                       list, day),
           [&](Rows& rows) {
             const auto batch = rows.number<std::uint64_t>();
             const auto epoch = rows.number<std::uint64_t>();
             conflicts.insert({batch, {epoch, rows.number<std::uint32_t>()}});
           }));
  if (!conflicts.empty()) {
    ByteWriter rows;
    for (const auto& [batch, group] : conflicts) {
      rows.write(batch);
      write_group(rows, group, now);
    }
    TRY(write("ledger_conflict (batch, epoch, seq, day)", rows));
  }
  for (const auto& [epoch, seq] : commits) TRY(commit({epoch, seq}, now));
  return {};
}

Result<> Ledger::expire(std::int64_t day, const std::set<std::uint64_t>& kept, WallTime now) {
  if (!kept.empty()) TRY(keep(day, kept, now));
  Result<> outcome;
  for (auto& holder : holders_)
    for (const auto* table : {"ledger_batch", "ledger_conflict", "ledger_commit"})
      if (auto done = drop_partitions(*holder.node, table, day); !done) outcome = std::move(done);
  return outcome;
}

}  // namespace clrscope::store
