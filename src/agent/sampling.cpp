#include "agent/sampling.h"

namespace clrscope::agent {
namespace {

// What the hooks cost where they run all the time, in nanoseconds: measured by bench/run requests.
constexpr std::uint64_t kSeenNs = 500;     // begin and end of any request
constexpr std::uint64_t kSampledNs = 900;  // more, for a sampled one
constexpr std::uint64_t kSpanNs = 30;
constexpr std::uint64_t kStepNs = 240;  // more, for a step of an async method, and for its queue
constexpr std::uint64_t kFlowNs = 80;
// What the host does before it calls the hooks of a request, by what they take themselves.
constexpr double kOfTheHost = 1.2;

constexpr double kFirstGuessNs = 20'000;     // of a sampled request, until one has ended
constexpr double kLeastShareNs = 2'000'000;  // per second: an idle process may be looked at
constexpr double kSmoothing = 0.3;

// How many times as long as the prices say the hooks take here.
double slowness(std::uint64_t seen_ns) {
  const auto measured = kOfTheHost * static_cast<double>(seen_ns) / static_cast<double>(kSeenNs);
  return measured > 1 ? measured : 1;
}

}  // namespace

HookCounts HookCounts::since(const HookCounts& earlier) const {
  return {.seen = seen - earlier.seen,
          .sampled = sampled - earlier.sampled,
          .spans = spans - earlier.spans,
          .steps = steps - earlier.steps,
          .flows = flows - earlier.flows,
          .own_ns = own_ns - earlier.own_ns,
          .seen_ns = seen_ns};
}

std::uint64_t Sampling::cost_of(const HookCounts& counts) {
  // Spans come one after the other and find in the caches what they need.
  const auto hooks = counts.seen * kSeenNs + counts.sampled * kSampledNs + counts.steps * kStepNs +
                     counts.flows * kFlowNs;
  return counts.own_ns + counts.spans * kSpanNs +
         static_cast<std::uint64_t>(static_cast<double>(hooks) * slowness(counts.seen_ns));
}

void Sampling::start(const SamplingOptions& options, std::uint64_t now_ns,
                     std::uint64_t process_ns) {
  options_ = options;
  last_ = {};
  last_ns_ = now_ns;
  last_process_ns_ = process_ns;
  per_second_ = 0;
  own_ns_ = 0;
  share_ns_ = kLeastShareNs;
  one_ns_.store(static_cast<std::int64_t>(kFirstGuessNs), std::memory_order_relaxed);
  budget_ns_.store(static_cast<std::int64_t>(kLeastShareNs), std::memory_order_relaxed);
  for (auto& path : paths_) path.store(0, std::memory_order_relaxed);
  probability_ppm_.store(options.fixed ? options.probability_ppm : 1'000'000,
                         std::memory_order_relaxed);
}

bool Sampling::take(std::int64_t ns) {
  if (budget_ns_.load(std::memory_order_relaxed) < ns) return false;
  budget_ns_.fetch_sub(ns, std::memory_order_relaxed);
  return true;
}

Choice Sampling::choose(std::uint64_t random, std::uint64_t path_hash, bool forced,
                        std::uint64_t now_ns) {
  if (forced) return Choice::kForced;
  const bool chance = random % 1'000'000 < probability_ppm_.load(std::memory_order_relaxed);
  if (options_.fixed) return chance ? Choice::kChance : Choice::kNo;
  auto& path = paths_[path_hash % kPaths];
  const auto second = static_cast<std::uint32_t>(now_ns / 1'000'000'000) + 1;
  const auto one = one_ns_.load(std::memory_order_relaxed);
  if (chance && take(one)) {
    path.store(second, std::memory_order_relaxed);
    return Choice::kChance;
  }
  if (options_.floor_seconds == 0) return Choice::kNo;
  auto last = path.load(std::memory_order_relaxed);
  if (last != 0 && second - last < options_.floor_seconds) return Choice::kNo;
  if (!take(one)) return Choice::kNo;
  // One of those that come at the same moment is enough.
  return path.compare_exchange_strong(last, second, std::memory_order_relaxed) ? Choice::kFloor
                                                                               : Choice::kNo;
}

void Sampling::update(const HookCounts& counts, std::uint64_t now_ns, std::uint64_t process_ns) {
  if (options_.fixed || now_ns - last_ns_ < kUpdateNs) return;
  const auto seconds = static_cast<double>(now_ns - last_ns_) / 1e9;
  const auto blend = [](double old, double fresh) { return old + kSmoothing * (fresh - old); };
  const auto used = static_cast<double>(process_ns - last_process_ns_) / seconds;
  const auto fresh = counts.since(last_);
  per_second_ = blend(per_second_, static_cast<double>(fresh.seen) / seconds);
  own_ns_ = blend(own_ns_, static_cast<double>(fresh.own_ns) / seconds);
  const auto wanted = used * options_.budget_ppm / 1e6;
  share_ns_ = blend(share_ns_, wanted > kLeastShareNs ? wanted : kLeastShareNs);
  // All requests are seen: that much of the budget is gone. A tenth stays for samples in any case.
  const auto seen = static_cast<double>(kSeenNs) * slowness(counts.seen_ns);
  const auto fixed = per_second_ * seen + own_ns_;
  const auto left = share_ns_ - fixed > share_ns_ / 10 ? share_ns_ - fixed : share_ns_ / 10;
  auto one = static_cast<double>(one_ns_.load(std::memory_order_relaxed));
  if (fresh.sampled > 0) {
    auto of_sampled = fresh;
    of_sampled.seen = of_sampled.own_ns = 0;
    const auto cost = cost_of(of_sampled);
    one = blend(one, static_cast<double>(cost) / static_cast<double>(fresh.sampled));
    one_ns_.store(static_cast<std::int64_t>(one), std::memory_order_relaxed);
  }
  auto probability = per_second_ > 0 ? left / (per_second_ * one) : 1.0;
  if (probability > 1) probability = 1;
  probability_ppm_.store(static_cast<std::uint32_t>(probability * 1e6), std::memory_order_relaxed);
  // What was not spent is kept for a second, not longer.
  auto store = static_cast<double>(budget_ns_.load(std::memory_order_relaxed));
  const auto refill = left * seconds;
  if (store + refill > left) store = left - refill;
  budget_ns_.store(static_cast<std::int64_t>(store + refill), std::memory_order_relaxed);
  last_ = counts;
  last_ns_ = now_ns;
  last_process_ns_ = process_ns;
}

}  // namespace clrscope::agent
