// Batches of all streams on their way into the store: one thread, one transaction for what has
// gathered. Each is acknowledged after its transaction is on disk, in the order of offer().
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/channel.h"
#include "base/guarded.h"
#include "store/store.h"

namespace clrscope::fleet {

class Committer {
 public:
  // On the committer's thread; must not wait.
  using Done = std::function<void(const Result<store::Stored>&)>;

  // After a batch is stored for the first time; on the committer's thread, must not wait.
  using OnStored = std::function<void(store::Batch)>;

  explicit Committer(store::Store& store, OnStored on_stored = {})
      : store_(store),
        on_stored_(std::move(on_stored)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // What a batch takes in memory, about.
  static std::size_t bytes_of(const store::Batch& batch);
  // False: too much is waiting already; both are still the caller's. A batch that is larger than
  // what may wait is taken when nothing else waits. Who waits for room goes first: new batches are
  // not taken meanwhile, so that a large one gets its turn.
  enum class Line : std::uint8_t { kNew, kWaiting };
  bool offer(store::Batch& batch, Done& done, Line line = Line::kNew);
  // Calls it once, on the committer's thread, after the next transaction. Offer again after this
  // call: there may be no next transaction.
  void when_room(std::function<void()> retry);
  // In its turn, without storing anything.
  bool offer_refusal(std::string reason, Done done);

  struct State {
    std::uint64_t stored = 0, duplicates = 0, refused = 0, failed = 0, transactions = 0;
  };
  State state() const {
    return state_.with([](const State& state) { return state; });
  }

 private:
  struct Item {
    store::Batch batch{};
    bool refused = false;
    std::string reason{};
    Done done{};
  };
  void run(const std::stop_token& stop);
  void commit(std::vector<Item>& items);
  void offer_room();

  static constexpr std::size_t kMostWaiting = 16'384;
  static constexpr std::size_t kMostBytes = 32 << 20;  // then streams are not read

  store::Store& store_;
  const OnStored on_stored_;
  Guarded<State> state_;
  struct Waiting {
    std::vector<std::function<void()>> retries{};  // first come, first served
    std::size_t in_line = 0;                       // these, and those that are being called
    bool refused = false;  // one of them in this round: those behind it do not overtake it
    bool busy = false;     // a transaction is under way: there is a round after it
  };
  Guarded<Waiting> waiting_;
  Channel<Item> inbox_{kMostWaiting, kMostBytes};
  std::jthread thread_;  // last member: joins first
};

}  // namespace clrscope::fleet
