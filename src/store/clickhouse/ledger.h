// What is stored: which groups of rows count, and which batches they hold.
//
// Its tables lie on an odd number of servers, each a plain table of its own; a write must reach
// most of them and a read asks most of them, so that every read sees every finished write, and any
// minority may be away. Why no crash counts a batch twice or loses it: docs/adr/0008-clickhouse.md
#pragma once

#include <atomic>
#include <compare>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "store/clickhouse/node.h"
#include "store/clickhouse/row_binary.h"

namespace clrscope::store {

// The rows of one add(). An epoch belongs to one server process; within it groups are committed
// in order.
struct GroupId {
  std::uint64_t epoch = 0;
  std::uint32_t seq = 0;
  auto operator<=>(const GroupId&) const = default;
};

struct LedgerEntry {
  std::string batch{};  // id
  GroupId group{};
  auto operator<=>(const LedgerEntry&) const = default;
};

// The number of a batch in the rows of data.
std::uint64_t batch_number(std::string_view id);

class Ledger {
 public:
  // Epoch → its last committed group.
  using Committed = std::map<std::uint64_t, std::uint32_t>;

  // Which rows count.
  struct View {
    Committed committed{};
    struct Loser {
      GroupId group{};
      std::uint64_t batch = 0;  // its number
    };
    std::vector<Loser> losers{};  // batches that another group holds too

    bool has(const GroupId& group) const;
    std::string condition() const;  // in SQL, of columns epoch, seq and batch
  };

  explicit Ledger(std::span<ClickhouseNode* const> nodes);
  // How many of the servers that were named hold the ledger.
  static std::size_t size_for(std::size_t nodes) { return nodes >= 5 ? 5 : nodes >= 3 ? 3 : 1; }

  Result<View> view();
  Result<Committed> committed();
  // All groups that hold these batches, committed or not.
  Result<std::vector<LedgerEntry>> find(std::span<const std::string> batches);
  Result<> note_batches(std::span<const LedgerEntry> entries, WallTime now);
  // That these groups hold the same batches.
  Result<> note_conflicts(std::span<const LedgerEntry> entries, WallTime now);
  Result<> commit(const GroupId& group, WallTime now);
  // Forgets what was received before that day, but for these epochs: they are written again.
  Result<> expire(std::int64_t day, const std::set<std::uint64_t>& kept, WallTime now);

 private:
  struct Holder {
    explicit Holder(ClickhouseNode* one) : node(one) {}
    ClickhouseNode* node;
    std::atomic<int> late{0};  // questions that nobody waits for any more
  };
  struct Asking;
  using Question = std::function<Result<std::string>(ClickhouseNode&)>;
  using Take = std::function<void(Rows&)>;  // one row

  Result<> keep(std::int64_t day, const std::set<std::uint64_t>& epochs, WallTime now);
  // To all at once, successfully to most; one that hangs is not waited for.
  Result<> write(std::string into, const ByteWriter& rows);
  // From most; another one is asked in the place of one that fails or hangs.
  Result<> read(const std::string& sql, const Take& take);
  Result<std::vector<std::string>> ask(std::size_t at_once, std::chrono::nanoseconds patience,
                                       const Question& question);
  // Those that answer go first.
  std::vector<Holder*> in_order();
  void begin(Holder& holder, const std::shared_ptr<Asking>& asking, const Question& question);
  std::size_t most() const { return holders_.size() / 2 + 1; }

  std::deque<Holder> holders_;
  Guarded<std::vector<std::future<void>>> under_way_;  // last member: waits for them first
};

}  // namespace clrscope::store
