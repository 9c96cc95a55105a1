#include "analyze/pool_changes.h"

#include <algorithm>

namespace clrscope::analyze {
namespace {

constexpr std::size_t kMaxQueued = 1 << 20;  // work items followed at once
constexpr std::size_t kMaxCounts = 1 << 16;  // more changes of the number are thinned out

}  // namespace

using nettrace::Known;
using std::chrono::nanoseconds;

void PoolChanges::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  for (const Event& event : batch.events) {
    const auto provider = providers_.of(*event.type);
    if (provider != Provider::kRundown) span_.on_event(event.time);
    if (provider == Provider::kUniversalEvents) only_counted_.on_event(reader, event);
    const auto known = known_.of(*event.type);
    if (known != Known::kNone) on_event(*reader.info(), event, known);
  }
}

void PoolChanges::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  // Several threads tell of the pool: only now is the order of time known.
  std::stable_sort(counts_.begin(), counts_.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  std::stable_sort(adjustments_.begin(), adjustments_.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  queued_.clear();
  known_.forget();
  providers_.forget();
}

void PoolChanges::add_count(Count count) {
  if (!counts_.empty() && counts_.back().workers == count.workers) return;
  if (counts_.size() == kMaxCounts) {  // of two neighbours the higher one stays
    for (std::size_t i = 0; i < kMaxCounts / 2; ++i) {
      const auto& [a, b] = std::pair{counts_[2 * i], counts_[2 * i + 1]};
      counts_[i] = a.workers > b.workers ? a : b;
    }
    counts_.resize(kMaxCounts / 2);
  }
  counts_.push_back(count);
}

std::uint64_t PoolChanges::adjusted(std::uint32_t reason) const {
  return static_cast<std::uint64_t>(
      std::count_if(adjustments_.begin(), adjustments_.end(),
                    [reason](const auto& one) { return one.reason == reason; }));
}

std::uint32_t PoolChanges::most_workers() const {
  std::uint32_t most = 0;
  for (const auto& count : counts_) most = std::max(most, count.workers);
  for (const auto& one : adjustments_) most = std::max(most, one.threads);
  return most;
}

std::optional<std::uint32_t> PoolChanges::last_workers() const {
  const auto goal = adjustments_.empty() ? std::nullopt : std::optional{adjustments_.back()};
  if (counts_.empty()) return goal ? std::optional{goal->threads} : std::nullopt;
  const auto& count = counts_.back();
  return goal && goal->time > count.time ? goal->threads : count.workers;
}

std::optional<std::uint32_t> PoolChanges::first_workers() const {
  if (!counts_.empty()) return counts_.front().workers;
  if (!adjustments_.empty()) return adjustments_.front().threads;
  return std::nullopt;
}

void PoolChanges::on_event(const nettrace::TraceInfo& info, const Event& event, Known known) {
  const auto size = info.pointer_size;
  const auto time = between(info.begin(), event.time);
  switch (known) {
    case Known::kWorkerStart:
    case Known::kWorkerStop:
    case Known::kWorkerWait:
      if (const auto worker = nettrace::read_as<nettrace::ThreadPoolWorker>(event, size))
        add_count({time, worker->active});
      break;
    case Known::kWorkerAdjustment:
      if (const auto one = nettrace::read_as<nettrace::WorkerAdjustment>(event, size))
        adjustments_.push_back({time, one->threads, one->reason, one->average_throughput});
      break;
    case Known::kPoolMinMax:
      if (const auto limits = nettrace::read_as<nettrace::PoolMinMax>(event, size))
        limits_ = *limits;
      break;
    case Known::kPoolEnqueue:
    case Known::kPoolDequeue:
      if (const auto work = nettrace::read_as<nettrace::PoolWork>(event, size))
        on_work(event, known, work->work);
      break;
    default:
      break;
  }
}

void PoolChanges::on_work(const Event& event, Known known, std::uint64_t work) {
  if (known == Known::kPoolEnqueue) {
    ++queue_.enqueued;
    if (queued_.size() < kMaxQueued) queued_[work] = event.time;
    return;
  }
  ++queue_.dequeued;
  const auto found = queued_.find(work);
  if (found == queued_.end()) return;
  const auto waited = std::max(nanoseconds{0}, between(found->second, event.time));
  queued_.erase(found);
  ++queue_.matched;
  grow(queue_.waited, waited);
  queue_.longest = std::max(queue_.longest, waited);
}

}  // namespace clrscope::analyze
