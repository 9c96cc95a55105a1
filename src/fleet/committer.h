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

  // False: too much is waiting already; the batch is dropped, and done is not called.
  bool offer(store::Batch batch, Done done);
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

  static constexpr std::size_t kMostWaiting = 16'384;
  static constexpr std::size_t kMostWeight = 16'000'000;  // spans and requests

  store::Store& store_;
  const OnStored on_stored_;
  Guarded<State> state_;
  Channel<Item> inbox_{kMostWaiting, kMostWeight};
  std::jthread thread_;  // last member: joins first
};

}  // namespace clrscope::fleet
