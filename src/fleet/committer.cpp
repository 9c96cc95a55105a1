#include "fleet/committer.h"

namespace clrscope::fleet {
namespace {

constexpr std::chrono::milliseconds kGather{20};  // more may come for the same transaction
constexpr std::size_t kEnough = 200'000;          // spans and requests

std::size_t weight_of(const store::Batch& batch) {
  return batch.requests.size() + batch.spans.method.size();
}

}  // namespace

bool Committer::offer(store::Batch batch, Done done) {
  const auto weight = weight_of(batch);
  return inbox_.try_push(Item{.batch = std::move(batch), .done = std::move(done)}, weight);
}

bool Committer::offer_refusal(std::string reason, Done done) {
  return inbox_.try_push(
      Item{.refused = true, .reason = std::move(reason), .done = std::move(done)});
}

void Committer::run(const std::stop_token& stop) {
  std::vector<Item> items;
  while (auto first = inbox_.pop(stop)) {
    items.clear();
    auto weight = weight_of(first->batch);
    items.push_back(std::move(*first));
    const Deadline deadline{kGather};
    while (weight < kEnough) {
      auto next = inbox_.pop_for(stop, deadline.left());
      if (!next) break;
      weight += weight_of(next->batch);
      items.push_back(std::move(*next));
    }
    commit(items);
  }
}

void Committer::commit(std::vector<Item>& items) {
  std::vector<store::Batch> batches;
  for (auto& item : items)
    if (!item.refused) batches.push_back(std::move(item.batch));
  auto stored = batches.empty() ? Result<std::vector<store::Stored>>{std::vector<store::Stored>{}}
                                : store_.add(batches, wall_now());
  state_.with([&](State& state) {
    state.transactions += batches.empty() ? 0 : 1;
    if (!stored) {
      state.failed += batches.size();
      return;
    }
    for (const auto& one : *stored) {
      auto& count = one.outcome == store::Stored::Outcome::kStored      ? state.stored
                    : one.outcome == store::Stored::Outcome::kDuplicate ? state.duplicates
                                                                        : state.refused;
      ++count;
    }
    state.refused += items.size() - batches.size();
  });
  std::size_t at = 0;
  for (auto& item : items) {
    using Outcome = store::Stored::Outcome;
    if (item.refused)
      item.done(store::Stored{Outcome::kRefused, std::move(item.reason)});
    else if (stored)
      item.done((*stored)[at++]);
    else
      item.done(fail(stored.error()));
  }
  if (!on_stored_ || !stored) return;
  for (std::size_t i = 0; i < batches.size(); ++i)
    if ((*stored)[i].outcome == store::Stored::Outcome::kStored) on_stored_(std::move(batches[i]));
}

}  // namespace clrscope::fleet
