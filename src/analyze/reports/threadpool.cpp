// The thread pool: how many workers over time, why their number changed, how long work queued.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;
using std::chrono::nanoseconds;

constexpr std::uint32_t kStarvation = 6;
constexpr std::uint32_t kBlocking = 8;
constexpr std::size_t kMaxQueued = 1 << 20;  // work items followed at once
constexpr std::size_t kMaxCounts = 1
                                   << 16;  // more changes of the number of workers are thinned out

struct Count {
  nanoseconds time{};  // since the trace's beginning
  std::uint32_t workers = 0;
};
struct Adjustment {
  nanoseconds time{};
  std::uint32_t threads = 0;
  std::uint32_t reason = 0;
  double throughput = 0;
};
struct Queue {
  std::uint64_t enqueued = 0;
  std::uint64_t dequeued = 0;
  std::uint64_t matched = 0;
  nanoseconds waited{};
  nanoseconds longest{};
};

class ThreadPool final : public Report {
 public:
  explicit ThreadPool(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    for (const Event& event : batch.events) {
      if (providers_.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
      const auto known = known_.of(*event.type);
      if (known != Known::kNone) on_event(*reader.info(), event, known);
    }
  }
  void end_of_trace(const nettrace::Reader& reader) override {
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

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  void on_event(const nettrace::TraceInfo& info, const Event& event, Known known);
  void on_work(const Event& event, Known known, std::uint64_t work);

  void add_count(Count count) {
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
  std::uint64_t adjusted(std::uint32_t reason) const {
    return static_cast<std::uint64_t>(
        std::count_if(adjustments_.begin(), adjustments_.end(),
                      [reason](const auto& one) { return one.reason == reason; }));
  }
  std::uint32_t most_workers() const {
    std::uint32_t most = 0;
    for (const auto& count : counts_) most = std::max(most, count.workers);
    for (const auto& one : adjustments_) most = std::max(most, one.threads);
    return most;
  }

  ReportOptions options_;
  KnownEvents known_;
  Providers providers_;
  std::vector<Count> counts_;  // each change
  std::vector<Adjustment> adjustments_;
  std::optional<nettrace::PoolMinMax> limits_;
  std::unordered_map<std::uint64_t, TraceTime> queued_;
  Queue queue_;
  TraceSpan span_;
};

void ThreadPool::on_event(const nettrace::TraceInfo& info, const Event& event, Known known) {
  const auto size = info.pointer_size;
  const auto time = between(info.time_of(info.sync_ticks), event.time);
  switch (known) {
    case Known::kWorkerStart:
    case Known::kWorkerStop:
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

void ThreadPool::on_work(const Event& event, Known known, std::uint64_t work) {
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

void ThreadPool::write_members(JsonWriter& json) const {
  json.member("mostWorkers", most_workers())
      .member("starvations", adjusted(kStarvation))
      .member("blockings", adjusted(kBlocking))
      .member("durationMs", ms(span_.length()));
  if (limits_)
    json.key("limits")
        .begin_object()
        .member("minWorkers", limits_->min_workers)
        .member("maxWorkers", limits_->max_workers)
        .member("minIo", limits_->min_io)
        .member("maxIo", limits_->max_io)
        .end_object();
  if (queue_.enqueued + queue_.dequeued > 0) {
    json.key("queue")
        .begin_object()
        .member("enqueued", queue_.enqueued)
        .member("dequeued", queue_.dequeued)
        .member("waitedMs", ms(queue_.waited))
        .member("longestWaitMs", ms(queue_.longest))
        .end_object();
  }
  json.key("workers").begin_array();
  for (const auto& count : counts_)
    json.begin_object()
        .member("timeMs", ms(count.time))
        .member("active", count.workers)
        .end_object();
  json.end_array().key("adjustments").begin_array();
  for (const auto& one : adjustments_)
    json.begin_object()
        .member("timeMs", ms(one.time))
        .member("threads", one.threads)
        .member("reason", value_name("ThreadAdjustmentReason", one.reason))
        .member("throughput", one.throughput)
        .end_object();
  json.end_array();
}

Page ThreadPool::page() const {
  if (counts_.empty() && adjustments_.empty() && queue_.enqueued + queue_.dequeued == 0)
    return {.summary = {"Nothing of the thread pool in this trace."},
            .next = "Record it: clrscope collect -p PID --clrevents threading"};
  Page page;
  std::uint32_t last = counts_.empty() ? 0 : counts_.back().workers;
  page.summary.push_back(fmt::format(
      "At most {} workers, {} at the end; their number was adjusted {} time{}.", most_workers(),
      last, count_text(adjustments_.size()), adjustments_.size() == 1 ? "" : "s"));
  if (const auto blocked = adjusted(kBlocking); blocked > 0)
    page.summary.push_back(
        fmt::format("{} workers were added because pool threads block on tasks: sync over async.",
                    count_text(blocked)));
  if (const auto starved = adjusted(kStarvation); starved > 0)
    page.summary.push_back(fmt::format(
        "The pool was starving: {} times a worker was added because queued work did not move.",
        count_text(starved)));
  if (limits_)
    page.summary.push_back(
        fmt::format("Allowed: {} to {} workers.", limits_->min_workers, limits_->max_workers));
  if (queue_.matched > 0)
    page.summary.push_back(
        fmt::format("{} work items queued {} on average, {} at most.", count_text(queue_.enqueued),
                    ms_text(queue_.waited / static_cast<std::int64_t>(queue_.matched)),
                    ms_text(queue_.longest)));
  if (!adjustments_.empty()) {
    std::map<std::uint32_t, std::uint64_t> reasons;
    for (const auto& one : adjustments_) ++reasons[one.reason];
    PageTable why{.title = "Why the number of workers changed", .columns = {">COUNT", "REASON"}};
    for (const auto& [reason, count] : reasons)
      why.rows.push_back({count_text(count), value_name("ThreadAdjustmentReason", reason)});
    page.tables.push_back(std::move(why));

    PageTable table{.title = "Adjustments",
                    .columns = {">AT", ">WORKERS", ">THROUGHPUT", "REASON"}};
    const auto rows = std::min(adjustments_.size(), options_.rows != 0 ? options_.rows : 10);
    for (auto i = adjustments_.size() - rows; i < adjustments_.size(); ++i)
      table.rows.push_back({fmt::format("{:.3f} s", ms(adjustments_[i].time) / 1000),
                            fmt::format("{}", adjustments_[i].threads),
                            fmt::format("{:.3f}/ms", adjustments_[i].throughput),
                            value_name("ThreadAdjustmentReason", adjustments_[i].reason)});
    if (rows < adjustments_.size())
      table.note = fmt::format("The last {} of {}; all: -n {}", rows, adjustments_.size(),
                               adjustments_.size());
    page.tables.push_back(std::move(table));
  }
  return page;
}

}  // namespace

extern const ReportKind threadpool_report{
    .name = "threadpool",
    .summary = "workers over time, adjustments, queueing",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<ThreadPool>(options);
    },
};

}  // namespace clrscope::analyze
