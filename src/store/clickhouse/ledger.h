// What is stored: which groups of rows count, and which batches they hold.
//
// Its tables lie on an odd number of servers, each a plain table of its own; a write must reach
// most of them and a read asks most of them, so that every read sees every finished write, and any
// minority may be away. Why no crash counts a batch twice or loses it: docs/adr/0008-clickhouse.md
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/clickhouse/node.h"

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

  explicit Ledger(std::vector<ClickhouseNode*> nodes) : nodes_(std::move(nodes)) {}
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
  // Forgets what was received before that day.
  Result<> expire(std::int64_t day);

 private:
  using OnNode = std::function<Result<>(ClickhouseNode&)>;
  Result<> write(const OnNode& on_node);  // on all, successfully on most
  Result<> read(const OnNode& on_node);   // on most
  std::size_t most() const { return nodes_.size() / 2 + 1; }

  std::vector<ClickhouseNode*> nodes_;
};

}  // namespace clrscope::store
