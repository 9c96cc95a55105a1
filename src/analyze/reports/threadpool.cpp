// The thread pool: how many workers over time, why their number changed, how long work queued.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/by_process.h"
#include "analyze/pool_changes.h"
#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

struct PoolLimits {
  std::uint32_t min_workers = 0;
  std::uint32_t max_workers = 0;
  std::uint32_t min_io = 0;
  std::uint32_t max_io = 0;
};
const Shape& shape_of(const PoolLimits*) {
  using L = PoolLimits;
  static const auto shape =
      describe<L>("PoolLimits", "allowed number of threads",
                  {member<&L::min_workers>("minWorkers", "minimum number of worker threads"),
                   member<&L::max_workers>("maxWorkers", "maximum number of worker threads"),
                   member<&L::min_io>("minIo", "minimum number of I/O completion threads"),
                   member<&L::max_io>("maxIo", "maximum number of I/O completion threads")});
  return shape;
}

struct PoolQueue {
  std::uint64_t enqueued = 0;
  std::uint64_t dequeued = 0;
  std::chrono::nanoseconds waited{};
  std::chrono::nanoseconds longest{};
};
const Shape& shape_of(const PoolQueue*) {
  using Q = PoolQueue;
  static const auto shape =
      describe<Q>("PoolQueue", "work items that were queued",
                  {member<&Q::enqueued>("enqueued", "work items queued"),
                   member<&Q::dequeued>("dequeued", "work items taken from the queue"),
                   member<&Q::waited>("waitedMs", "total time they waited"),
                   member<&Q::longest>("longestWaitMs", "longest wait of one")});
  return shape;
}

struct PoolWorkers {
  std::chrono::nanoseconds at{};
  std::uint32_t active = 0;
};
const Shape& shape_of(const PoolWorkers*) {
  static const auto shape =
      describe<PoolWorkers>("PoolWorkers", "number of workers at one time",
                            {member<&PoolWorkers::at>("atMs", "time since the trace began"),
                             member<&PoolWorkers::active>("active", "active worker threads")});
  return shape;
}

struct PoolAdjustment {
  std::chrono::nanoseconds at{};
  std::uint32_t threads = 0;
  std::string reason{};
  double throughput = 0;
};
const Shape& shape_of(const PoolAdjustment*) {
  using A = PoolAdjustment;
  static const auto shape =
      describe<A>("PoolAdjustment", "change of the wanted number of workers",
                  {member<&A::at>("atMs", "time since the trace began"),
                   member<&A::threads>("threads", "worker threads wanted"),
                   member<&A::reason>("reason", "runtime's reason for the change"),
                   member<&A::throughput>("throughputPerSecond", Unit::kPerSecond,
                                          "work items completed per second before the change")});
  return shape;
}

struct ThreadPoolAnswer {
  std::uint32_t most_workers = 0;
  std::optional<std::uint32_t> last_workers{};
  std::uint64_t starvations = 0;
  std::uint64_t blockings = 0;
  std::chrono::nanoseconds duration{};
  std::optional<std::chrono::nanoseconds> recorded{};
  std::optional<PoolLimits> limits{};
  std::optional<PoolQueue> queue{};
  std::vector<PoolWorkers> workers{};
  std::vector<PoolAdjustment> adjustments{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const ThreadPoolAnswer*) {
  using A = ThreadPoolAnswer;
  static const auto shape = describe<A>(
      "ThreadPoolReport", "thread pool: workers over time and why their number changed",
      {member<&A::most_workers>("mostWorkers", "most active workers"),
       member<&A::last_workers>("lastWorkers", "active workers at the end, when known"),
       member<&A::starvations>("starvations", "workers added because queued work made no progress"),
       member<&A::blockings>("blockings", "workers added because pool threads block on tasks"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::recorded>("recordedMs", "recorded part of it, when not all was recorded"),
       member<&A::limits>("limits", "allowed number of threads, when known"),
       member<&A::queue>("queue", "queue of work items, when recorded"),
       member<&A::workers>("workers", "each change of the number of active workers"),
       member<&A::adjustments>("adjustments", "each change of the number of workers wanted"),
       member<&A::by_process>("byProcess", "adjustments of each process")});
  return shape;
}

class ThreadPoolReport final : public ReportOf<ThreadPoolAnswer> {
 public:
  explicit ThreadPoolReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    pool_.on_batch(reader, batch);
    by_process_.on_batch(batch, {nettrace::Known::kWorkerAdjustment});
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    pool_.end_of_trace(reader);
    by_process_.end_of_trace();
  }

  ThreadPoolAnswer result() const override;
  Document page() const override;

 private:
  ReportOptions options_;
  PoolChanges pool_;
  ByProcess by_process_;
};

ThreadPoolAnswer ThreadPoolReport::result() const {
  ThreadPoolAnswer answer{.most_workers = pool_.most_workers(),
                          .last_workers = pool_.last_workers(),
                          .starvations = pool_.adjusted(PoolChanges::kStarvation),
                          .blockings = pool_.adjusted(PoolChanges::kBlocking),
                          .duration = pool_.span().length(),
                          .recorded = pool_.recorded(),
                          .by_process = by_process_.all()};
  if (const auto& limits = pool_.limits())
    answer.limits = {limits->min_workers, limits->max_workers, limits->min_io, limits->max_io};
  if (const auto& queue = pool_.queue(); queue.enqueued + queue.dequeued > 0)
    answer.queue = {queue.enqueued, queue.dequeued, queue.waited, queue.longest};
  for (const auto& count : pool_.counts()) answer.workers.push_back({count.time, count.workers});
  for (const auto& one : pool_.adjustments())
    answer.adjustments.push_back(
        {one.time, one.threads, value_name("ThreadAdjustmentReason", one.reason), one.throughput});
  return answer;
}

Document ThreadPoolReport::page() const {
  if (pool_.counts().empty() && pool_.adjustments().empty() &&
      pool_.queue().enqueued + pool_.queue().dequeued == 0)
    return {.summary = {"No thread pool events in this trace."},
            .next = "Record it: clrscope collect -p PID --clrevents threading"};
  Document page;
  if (const auto last = pool_.last_workers())
    page.summary.push_back(
        fmt::format("At most {} workers, {} at the end; their number was adjusted {} time{}.",
                    pool_.most_workers(), *last, count_text(pool_.adjustments().size()),
                    pool_.adjustments().size() == 1 ? "" : "s"));
  else
    page.summary.emplace_back("The number of workers is not in this trace.");
  if (const auto recorded = pool_.recorded())
    page.summary.push_back(
        fmt::format("Recorded only in the first {}, to limit the overhead. To record all of it: "
                    "clrscope collect -p PID --clrevents threading",
                    format_duration(*recorded)));
  if (const auto blocked = pool_.adjusted(PoolChanges::kBlocking); blocked > 0)
    page.summary.push_back(
        fmt::format("{} workers were added because pool threads block on tasks: sync over async.",
                    count_text(blocked)));
  if (const auto starved = pool_.adjusted(PoolChanges::kStarvation); starved > 0)
    page.summary.push_back(fmt::format(
        "The pool was starving: {} times a worker was added because queued work made no progress.",
        count_text(starved)));
  if (pool_.limits())
    page.summary.push_back(fmt::format("Allowed: {} to {} workers.", pool_.limits()->min_workers,
                                       pool_.limits()->max_workers));
  if (pool_.queue().matched > 0)
    page.summary.push_back(fmt::format(
        "{} work items queued {} on average, {} at most.", count_text(pool_.queue().enqueued),
        format_duration(pool_.queue().waited / static_cast<std::int64_t>(pool_.queue().matched)),
        format_duration(pool_.queue().longest)));
  if (!pool_.adjustments().empty()) {
    std::map<std::uint32_t, std::uint64_t> reasons;
    for (const auto& one : pool_.adjustments()) ++reasons[one.reason];
    DocumentTable why{.title = "Why the number of workers changed",
                      .columns = {">COUNT", "REASON"}};
    for (const auto& [reason, count] : reasons)
      why.rows.push_back({count_text(count), value_name("ThreadAdjustmentReason", reason)});
    page.tables.push_back(std::move(why));

    DocumentTable table{.title = "Adjustments",
                        .columns = {">AT", ">WORKERS", ">THROUGHPUT", "REASON"}};
    const auto rows = std::min(pool_.adjustments().size(), options_.rows != 0 ? options_.rows : 10);
    for (auto i = pool_.adjustments().size() - rows; i < pool_.adjustments().size(); ++i)
      table.rows.push_back({fmt::format("{:.3f} s", ms(pool_.adjustments()[i].time) / 1000),
                            fmt::format("{}", pool_.adjustments()[i].threads),
                            fmt::format("{:.1f}/s", pool_.adjustments()[i].throughput),
                            value_name("ThreadAdjustmentReason", pool_.adjustments()[i].reason)});
    if (rows < pool_.adjustments().size())
      table.note = fmt::format("The last {} of {}; all: -n {}", rows, pool_.adjustments().size(),
                               pool_.adjustments().size());
    page.tables.push_back(std::move(table));
  }
  by_process_.add_table(page, "ADJUSTMENTS");
  return page;
}

}  // namespace

extern const ReportKind threadpool_report =
    report_kind<ThreadPoolReport>("threadpool", "workers over time, adjustments, queueing");

}  // namespace clrscope::analyze
