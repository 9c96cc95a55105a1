#include "hub/derived.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/bytes.h"

namespace clrscope::hub {
namespace {

using nettrace::Known;
using nettrace::read_as;

constexpr std::uint64_t kGc = 0x1, kJit = 0x10, kContention = 0x4000, kException = 0x8000,
                        kThreading = 0x10000;
constexpr std::uint32_t kSuspendForGc = 1, kSuspendForGcPrep = 6;

constexpr std::string_view kPause = "dotnet.gc.pause.duration";
constexpr std::string_view kPauseTime = "dotnet.gc.pause.time";
constexpr std::string_view kCollections = "dotnet.gc.collections";
constexpr std::string_view kAllocated = "dotnet.gc.heap.total_allocated";
constexpr std::string_view kExceptions = "dotnet.exceptions";
constexpr std::string_view kContentions = "dotnet.monitor.lock_contentions";
constexpr std::string_view kContentionTime = "dotnet.monitor.lock_contention.time";
constexpr std::string_view kMethods = "dotnet.jit.compiled_methods";
constexpr std::string_view kJitTime = "dotnet.jit.compilation.time";
constexpr std::string_view kPoolThreads = "dotnet.thread_pool.thread.count";
constexpr std::string_view kQueueWait = "dotnet.thread_pool.queue.wait";
constexpr std::string_view kQueueLength = "dotnet.thread_pool.queue.length";
constexpr std::uint64_t kFrameworkPool = 0x2;

struct Metric {
  std::string_view name, unit, tag;
  std::uint64_t keywords;
  std::uint8_t level;
  bool by_name_only = false;
  std::string_view provider = kRuntimeProvider;
};
constexpr Metric kMetrics[] = {
    {kPause, "s", "", kGc, 4},
    {kPauseTime, "s", "", kGc, 4},
    {kCollections, "{collection}", "gc.heap.generation", kGc, 4},
    {kAllocated, "By", "", kGc, 5},
    {kExceptions, "{exception}", "error.type", kException, 4},
    {kContentions, "{contention}", "", kContention, 4},
    {kContentionTime, "s", "", kContention, 4},
    {kMethods, "{method}", "", kJit, 4},
    {kJitTime, "s", "", kJit, 5},
    {kPoolThreads, "{thread}", "", kThreading, 4},
    {kQueueWait, "s", "", kFrameworkPool, 5, true, kFrameworkProvider},
    {kQueueLength, "{work_item}", "", kFrameworkPool, 5, true, kFrameworkProvider},
};

// Seconds. A bucket holds what is not above its bound.
constexpr double kBounds[] = {0.0001,
                              0.00025,
                              0.0005,
                              0.001,
                              0.0025,
                              0.005,
                              0.01,
                              0.025,
                              0.05,
                              0.1,
                              0.25,
                              0.5,
                              1,
                              2.5,
                              5,
                              10,
                              std::numeric_limits<double>::infinity()};

// Threads in the middle of something.
constexpr std::size_t kMaxOpen = 10'000;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

const Metric& metric_of(std::string_view name) {
  for (const auto& one : kMetrics)
    if (one.name == name) return one;
  return kMetrics[0];
}

CounterValue made(std::string_view name, CounterKind kind, std::chrono::nanoseconds interval) {
  CounterValue value{.provider = std::string{kDerivedProvider},
                     .name = std::string{name},
                     .display = std::string{name},
                     .unit = std::string{metric_of(name).unit}};
  value.kind = kind;
  value.meter = true;  // its name is the conventions' already
  value.interval = interval;
  return value;
}

}  // namespace

std::vector<ProviderRequest> providers_for_derived(const std::vector<std::string>& names) {
  std::vector<ProviderRequest> requests;
  for (const auto provider : {kRuntimeProvider, kFrameworkProvider}) {
    ProviderRequest request{.name = std::string{provider}, .level = 4};
    for (const auto& one : kMetrics) {
      const bool named = std::find(names.begin(), names.end(), one.name) != names.end();
      if (one.provider != provider || !(named || (names.empty() && !one.by_name_only))) continue;
      request.keywords |= one.keywords;
      request.level = std::max(request.level, one.level);
    }
    if (request.keywords != 0) requests.push_back(std::move(request));
  }
  return requests;
}

bool may_be_derived_from(std::string_view provider) {
  return provider == kRuntimeProvider || provider == kFrameworkProvider;
}

void DerivedMetrics::Histogram::add(double seconds) {
  counts.resize(std::size(kBounds));
  ++counts[static_cast<std::size_t>(
      std::lower_bound(std::begin(kBounds), std::end(kBounds), seconds) - std::begin(kBounds))];
  sum += seconds;
}

CounterValue DerivedMetrics::Histogram::take(std::string_view metric,
                                             std::chrono::nanoseconds interval) {
  auto value = made(metric, CounterKind::kHistogram, interval);
  for (std::size_t i = 0; i < std::size(kBounds); ++i) {
    value.buckets.push_back({kBounds[i], std::exchange(counts[i], 0)});
    value.count += value.buckets.back().count;
  }
  value.sum = std::exchange(sum, 0);
  value.value = quantile_of(value.buckets, 0.5).value_or(0);
  return value;
}

void DerivedMetrics::add(std::string_view metric, double amount, std::string tag) {
  auto& sum = sums_[{metric, std::move(tag)}];
  sum.now += amount;
  sum.total += amount;
}

void DerivedMetrics::on_event(const Event& event, Known known) {
  switch (known) {
    case Known::kGcStart:
    case Known::kGcSuspendBegin:
    case Known::kGcRestartBegin:  // from here on threads run: see analyze/collections.h
      return on_gc(event, known);
    case Known::kAllocationTick:
      if (const auto tick = read_as<nettrace::AllocationTick>(event, pointer_size_))
        add(kAllocated, static_cast<double>(tick->amount));
      return;
    case Known::kException:
      if (const auto thrown = read_as<nettrace::ExceptionThrown>(event, pointer_size_))
        add(kExceptions, 1, utf8_of(thrown->type));
      return;
    case Known::kContentionStart:
    case Known::kContentionStop:
      return on_contention(event, known);
    case Known::kMethodJittingStarted:
    case Known::kMethodLoad:
      return on_jit(event, known);
    case Known::kWorkerStart:
    case Known::kWorkerStop:
    case Known::kWorkerWait:
      if (const auto pool = read_as<nettrace::ThreadPoolWorker>(event, pointer_size_)) {
        pool_threads_ = pool->active;
        pool_seen_ = true;
      }
      return;
    case Known::kPoolEnqueue:
    case Known::kPoolDequeue:
      return on_pool_work(event, known);
    default:
      return;
  }
}

void DerivedMetrics::on_gc(const Event& event, Known known) {
  if (known == Known::kGcStart) {
    if (const auto gc = read_as<nettrace::GcStart>(event, pointer_size_))
      add(kCollections, 1, "gen" + std::to_string(gc->generation));
  } else if (known == Known::kGcSuspendBegin) {
    const auto suspend = read_as<nettrace::GcSuspend>(event, pointer_size_);
    const bool for_gc =
        suspend && (suspend->reason == kSuspendForGc || suspend->reason == kSuspendForGcPrep);
    suspended_ = for_gc ? event.time : TraceTime{};
  } else if (suspended_ != TraceTime{} && event.time >= suspended_) {
    const auto pause = seconds(event.time - std::exchange(suspended_, {}));
    pauses_.add(pause);
    add(kPauseTime, pause);
  }
}

void DerivedMetrics::on_contention(const Event& event, Known known) {
  const auto thread = static_cast<std::uint64_t>(event.thread);
  if (known == Known::kContentionStart) {
    add(kContentions, 1);
    if (waiting_.size() < kMaxOpen) waiting_[thread] = event.time;
    return;
  }
  const auto stop = read_as<nettrace::ContentionStop>(event, pointer_size_);
  const auto begun = waiting_.find(thread);
  if (stop && stop->duration_ns > 0)
    add(kContentionTime, stop->duration_ns / 1e9);
  else if (begun != waiting_.end() && event.time >= begun->second)
    add(kContentionTime, seconds(event.time - begun->second));
  if (begun != waiting_.end()) waiting_.erase(begun);
}

void DerivedMetrics::on_jit(const Event& event, Known known) {
  const auto thread = static_cast<std::uint64_t>(event.thread);
  if (known == Known::kMethodJittingStarted) {
    if (jitting_.size() < kMaxOpen) jitting_[thread] = event.time;
    return;
  }
  const auto method = read_as<nettrace::MethodEvent>(event, pointer_size_);
  if (!method || !method->jitted()) return;
  add(kMethods, 1);
  const auto begun = jitting_.find(thread);
  if (begun == jitting_.end()) return;
  if (event.time >= begun->second) add(kJitTime, seconds(event.time - begun->second));
  jitting_.erase(begun);
}

// Work is identified by the hash of its object: two that wait at once may share it, which is rare.
// What was queued before we listened is not known.
void DerivedMetrics::on_pool_work(const Event& event, Known known) {
  const auto work = read_as<nettrace::PoolWork>(event, pointer_size_);
  if (!work || event.type->provider != kFrameworkProvider) return;
  queue_seen_ = true;
  if (known == Known::kPoolEnqueue) {
    if (queued_.size() < kMaxOpen) queued_.try_emplace(work->work, event.time);
    return;
  }
  const auto begun = queued_.find(work->work);
  if (begun == queued_.end()) return;
  if (event.time >= begun->second) queue_waits_.add(seconds(event.time - begun->second));
  queued_.erase(begun);
}

std::vector<CounterValue> DerivedMetrics::take(std::chrono::nanoseconds interval) {
  std::vector<CounterValue> values;
  for (auto& [key, sum] : sums_) {
    auto value = made(key.first, CounterKind::kRate, interval);
    value.value = std::exchange(sum.now, 0);
    value.total = sum.total;
    if (!key.second.empty())
      value.tags.emplace_back(std::string{metric_of(key.first).tag}, key.second);
    values.push_back(std::move(value));
  }
  if (!pauses_.counts.empty()) values.push_back(pauses_.take(kPause, interval));
  if (!queue_waits_.counts.empty()) values.push_back(queue_waits_.take(kQueueWait, interval));
  if (queue_seen_) {
    auto value = made(kQueueLength, CounterKind::kUpDown, interval);
    value.value = static_cast<double>(queued_.size());
    values.push_back(std::move(value));
  }
  if (pool_seen_) {
    auto value = made(kPoolThreads, CounterKind::kUpDown, interval);
    value.value = pool_threads_;
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace clrscope::hub
