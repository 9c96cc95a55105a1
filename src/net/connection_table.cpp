#include "net/connection_table.h"

#include <algorithm>
#include <utility>

namespace clrscope::net {
namespace {

struct Entry {
  std::string address{};
  std::function<void()> end{};
  std::uint64_t quiet_since = 0;  // in turns, not in time
  bool known = false;
  bool waits = false;  // known, and between two requests
};

struct Table {
  std::uint64_t turn = 0;
  std::uint64_t ended = 0;
  std::map<std::uint64_t, Entry> entries{};
  // Turn of the last sign of life: id. The first has been quiet for the longest.
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>> newcomers{};  // by address
  std::size_t newcomer_count = 0;
  std::map<std::uint64_t, std::uint64_t> waiting{};

  void unlist(Entry& entry) {
    if (entry.known) {
      if (std::exchange(entry.waits, false)) waiting.erase(entry.quiet_since);
      return;
    }
    const auto of_address = newcomers.find(entry.address);
    of_address->second.erase(entry.quiet_since);
    if (of_address->second.empty()) newcomers.erase(of_address);
    --newcomer_count;
  }
  void list_newcomer(std::uint64_t id, Entry& entry) {
    entry.quiet_since = ++turn;
    newcomers[entry.address].emplace(entry.quiet_since, id);
    ++newcomer_count;
  }

  // Takes it out; whoever gets the function calls it without the lock.
  std::function<void()> take(std::uint64_t id) {
    const auto at = entries.find(id);
    unlist(at->second);
    auto end = std::move(at->second.end);
    entries.erase(at);
    ++ended;
    return end;
  }
  std::function<void()> take_newcomer(const std::string& address) {
    return take(newcomers.at(address).begin()->second);
  }
  const std::string& most_crowded() const {
    return std::ranges::max_element(newcomers, {},
                                    [](const auto& one) { return one.second.size(); })
        ->first;
  }
};

}  // namespace

struct ConnectionTable::State {
  explicit State(const ConnectionLimits& with) : limits(with) {}
  const ConnectionLimits limits;
  Guarded<Table> table{};
};

ConnectionTable::ConnectionTable(const ConnectionLimits& limits)
    : state_(std::make_shared<State>(limits)) {}

std::shared_ptr<ConnectionTable::Place> ConnectionTable::enter(const std::string& address,
                                                               std::function<void()> end) {
  std::function<void()> end_other;
  bool of_reserve = false;
  const auto id = state_->table.with([&](Table& table) -> std::uint64_t {
    const auto& limits = state_->limits;
    const auto same = table.newcomers.find(address);
    if (same != table.newcomers.end() && same->second.size() >= limits.newcomers_of_address)
      end_other = table.take_newcomer(address);
    else if (table.newcomer_count >= limits.newcomers && table.newcomer_count > 0)
      end_other = table.take_newcomer(std::string{table.most_crowded()});
    else if (table.entries.size() >= limits.all && !table.waiting.empty())
      end_other = table.take(table.waiting.begin()->second);
    of_reserve = table.entries.size() >= limits.all;
    if (table.entries.size() >= limits.all + limits.reserve) return 0;
    const auto made = ++table.turn;
    auto& entry = table.entries[made];
    entry.address = address;
    entry.end = std::move(end);
    table.list_newcomer(made, entry);
    return made;
  });
  if (end_other) end_other();
  return id == 0 ? nullptr : std::make_shared<Place>(state_, id, of_reserve);
}

std::uint64_t ConnectionTable::ended() const {
  return state_->table.with([](const Table& table) { return table.ended; });
}

ConnectionTable::Place::~Place() {
  state_->table.with([&](Table& table) {
    const auto at = table.entries.find(id_);
    if (at == table.entries.end()) return;
    table.unlist(at->second);
    table.entries.erase(at);
  });
}

void ConnectionTable::Place::wait() {
  state_->table.with([&](Table& table) {
    const auto at = table.entries.find(id_);
    if (at == table.entries.end() || !at->second.known || at->second.waits) return;
    at->second.waits = true;
    at->second.quiet_since = ++table.turn;
    table.waiting.emplace(at->second.quiet_since, id_);
  });
}

void ConnectionTable::Place::work() {
  state_->table.with([&](Table& table) {
    const auto at = table.entries.find(id_);
    if (at == table.entries.end()) return;
    table.unlist(at->second);
    if (!at->second.known) table.list_newcomer(id_, at->second);
  });
}

void ConnectionTable::Place::become_known() {
  state_->table.with([&](Table& table) {
    const auto at = table.entries.find(id_);
    if (at == table.entries.end() || at->second.known) return;
    table.unlist(at->second);
    at->second.known = true;
  });
}

}  // namespace clrscope::net
