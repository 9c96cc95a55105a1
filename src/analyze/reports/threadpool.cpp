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

class ThreadPoolReport final : public Report {
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

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  ReportOptions options_;
  PoolChanges pool_;
  ByProcess by_process_;
};

void ThreadPoolReport::write_members(JsonWriter& json) const {
  json.member("mostWorkers", pool_.most_workers());
  if (const auto last = pool_.last_workers()) json.member("lastWorkers", *last);
  json.member("starvations", pool_.adjusted(PoolChanges::kStarvation))
      .member("blockings", pool_.adjusted(PoolChanges::kBlocking))
      .member("durationMs", ms(pool_.span().length()));
  if (const auto recorded = pool_.recorded()) json.member("recordedMs", ms(*recorded));
  if (pool_.limits())
    json.key("limits")
        .begin_object()
        .member("minWorkers", pool_.limits()->min_workers)
        .member("maxWorkers", pool_.limits()->max_workers)
        .member("minIo", pool_.limits()->min_io)
        .member("maxIo", pool_.limits()->max_io)
        .end_object();
  if (pool_.queue().enqueued + pool_.queue().dequeued > 0) {
    json.key("queue")
        .begin_object()
        .member("enqueued", pool_.queue().enqueued)
        .member("dequeued", pool_.queue().dequeued)
        .member("waitedMs", ms(pool_.queue().waited))
        .member("longestWaitMs", ms(pool_.queue().longest))
        .end_object();
  }
  json.key("workers").begin_array();
  for (const auto& count : pool_.counts())
    json.begin_object()
        .member("timeMs", ms(count.time))
        .member("active", count.workers)
        .end_object();
  json.end_array().key("adjustments").begin_array();
  for (const auto& one : pool_.adjustments())
    json.begin_object()
        .member("timeMs", ms(one.time))
        .member("threads", one.threads)
        .member("reason", value_name("ThreadAdjustmentReason", one.reason))
        .member("throughputPerSecond", one.throughput)
        .end_object();
  json.end_array();
  by_process_.write_member(json);
}

Page ThreadPoolReport::page() const {
  if (pool_.counts().empty() && pool_.adjustments().empty() &&
      pool_.queue().enqueued + pool_.queue().dequeued == 0)
    return {.summary = {"Nothing of the thread pool in this trace."},
            .next = "Record it: clrscope collect -p PID --clrevents threading"};
  Page page;
  if (const auto last = pool_.last_workers())
    page.summary.push_back(
        fmt::format("At most {} workers, {} at the end; their number was adjusted {} time{}.",
                    pool_.most_workers(), *last, count_text(pool_.adjustments().size()),
                    pool_.adjustments().size() == 1 ? "" : "s"));
  else
    page.summary.emplace_back("How many workers there were is not in this trace.");
  if (const auto recorded = pool_.recorded())
    page.summary.push_back(
        fmt::format("Recorded in the first {} only: so many events would have cost the program too "
                    "much. To have them all: clrscope collect -p PID --clrevents threading",
                    ms_text(*recorded)));
  if (const auto blocked = pool_.adjusted(PoolChanges::kBlocking); blocked > 0)
    page.summary.push_back(
        fmt::format("{} workers were added because pool threads block on tasks: sync over async.",
                    count_text(blocked)));
  if (const auto starved = pool_.adjusted(PoolChanges::kStarvation); starved > 0)
    page.summary.push_back(fmt::format(
        "The pool was starving: {} times a worker was added because queued work did not move.",
        count_text(starved)));
  if (pool_.limits())
    page.summary.push_back(fmt::format("Allowed: {} to {} workers.", pool_.limits()->min_workers,
                                       pool_.limits()->max_workers));
  if (pool_.queue().matched > 0)
    page.summary.push_back(fmt::format(
        "{} work items queued {} on average, {} at most.", count_text(pool_.queue().enqueued),
        ms_text(pool_.queue().waited / static_cast<std::int64_t>(pool_.queue().matched)),
        ms_text(pool_.queue().longest)));
  if (!pool_.adjustments().empty()) {
    std::map<std::uint32_t, std::uint64_t> reasons;
    for (const auto& one : pool_.adjustments()) ++reasons[one.reason];
    PageTable why{.title = "Why the number of workers changed", .columns = {">COUNT", "REASON"}};
    for (const auto& [reason, count] : reasons)
      why.rows.push_back({count_text(count), value_name("ThreadAdjustmentReason", reason)});
    page.tables.push_back(std::move(why));

    PageTable table{.title = "Adjustments",
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

extern const ReportKind threadpool_report{
    .name = "threadpool",
    .summary = "workers over time, adjustments, queueing",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<ThreadPoolReport>(options);
    },
};

}  // namespace clrscope::analyze
