#include "fleet/committer.h"

#include <utility>

namespace clrscope::fleet {
namespace {

constexpr std::chrono::milliseconds kGather{20};  // more may come for the same transaction
constexpr std::size_t kEnough = 200'000;          // spans and requests

std::size_t weight_of(const store::Batch& batch) {
  return batch.requests.size() + batch.spans.method.size();
}

}  // namespace

std::size_t Committer::bytes_of(const store::Batch& batch) {
  constexpr std::size_t kSpan = 52, kStep = 20, kSample = 28, kStack = 8;
  constexpr std::size_t kInside = 15;  // a text up to this long lies in the string itself
  auto bytes = sizeof batch + batch.requests.size() * sizeof(store::BatchRequest) +
               batch.spans.method.size() * kSpan + batch.spans.step_begin.size() * kStep +
               batch.samples.stack.size() * kSample + batch.stacks.method.size() * kStack;
  for (const auto& name : batch.names)
    bytes += sizeof name + (name.size() > kInside ? name.size() + kInside : 0);
  return bytes;
}

bool Committer::offer(store::Batch& batch, Done& done, Line line) {
  const bool must_wait = waiting_.with([&](const Waiting& waiting) {
    return waiting.busy && (line == Line::kNew ? waiting.in_line > 0 : waiting.refused);
  });
  if (must_wait) return false;
  const auto bytes = bytes_of(batch);
  Item item{.batch = std::move(batch), .done = std::move(done)};
  if (inbox_.push_for(std::chrono::nanoseconds::zero(), item, bytes)) return true;
  batch = std::move(item.batch);
  done = std::move(item.done);
  if (line == Line::kWaiting) waiting_.with([](Waiting& waiting) { waiting.refused = true; });
  return false;
}

void Committer::when_room(std::function<void()> retry) {
  waiting_.with([&](Waiting& waiting) {
    waiting.retries.push_back(std::move(retry));
    ++waiting.in_line;
  });
}

// After a transaction. When it returns, something is in the inbox or nobody waits.
void Committer::offer_room() {
  do {
    const auto retries = waiting_.with([](Waiting& waiting) {
      waiting.refused = false;
      return std::exchange(waiting.retries, {});
    });
    for (const auto& retry : retries) retry();
    waiting_.with([&](Waiting& waiting) {
      waiting.in_line = waiting.retries.size();
      waiting.busy = waiting.in_line > 0 || inbox_.size() > 0;
    });
  } while (inbox_.size() == 0 &&
           waiting_.with([](const Waiting& waiting) { return waiting.busy; }));
}

bool Committer::offer_refusal(std::string reason, Done done) {
  return inbox_.try_push(
      Item{.refused = true, .reason = std::move(reason), .done = std::move(done)});
}

void Committer::run(const std::stop_token& stop) {
  std::vector<Item> items;
  while (auto first = inbox_.pop(stop)) {
    waiting_.with([](Waiting& waiting) { waiting.busy = true; });
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
    offer_room();
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
