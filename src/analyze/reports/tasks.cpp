// Tasks, async operations, awaits and threads that block on tasks.
#include "analyze/tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using Times = Tasks::Times;

// The entries of a map, most first.
template <class Map, class By>
std::vector<const typename Map::value_type*> ranked(const Map& map, By by) {
  std::vector<const typename Map::value_type*> all;
  for (const auto& one : map) all.push_back(&one);
  std::ranges::stable_sort(all, std::greater{}, [&](const auto* one) { return by(one->second); });
  return all;
}
std::chrono::nanoseconds by_total(const Times& times) { return times.total; }
std::chrono::nanoseconds by_awaited(const Tasks::Awaits& awaits) { return awaits.times.total; }
std::chrono::nanoseconds by_spent(const Tasks::Started& times) {
  return sum(times.waited.total, times.ran.total);
}

std::string mean_text(const Times& times) {
  return ms_text(times.total / static_cast<std::int64_t>(std::max<std::uint64_t>(1, times.count)));
}
// Without "Async: ", which the runtime puts before the name of an async method.
std::string_view short_name(std::string_view operation) {
  constexpr std::string_view kAsync = "Async: ";
  return operation.substr(operation.starts_with(kAsync) ? kAsync.size() : 0);
}
std::string some(std::uint64_t count) { return count > 0 ? count_text(count) : ""; }

class TasksReport final : public Report {
 public:
  explicit TasksReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    tasks_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { tasks_.end_of_trace(reader); }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  void write_started(JsonWriter& json, const Tasks::Started& times) const;
  void write_times(JsonWriter& json, FrameId site, const Times& times) const;
  void add_table(Page& page, PageTable table) const;
  bool nothing() const {
    return tasks_.sites().empty() && tasks_.operations().empty() && tasks_.awaits().empty() &&
           tasks_.blocked().empty();
  }

  ReportOptions options_;
  Tasks tasks_;
};

void TasksReport::write_started(JsonWriter& json, const Tasks::Started& times) const {
  json.member("count", times.waited.count)
      .member("failed", times.ran.failed)
      .member("cancelled", times.ran.cancelled)
      .member("neverStarted", times.waited.unfinished)
      .member("unfinished", times.ran.unfinished)
      .member("waitedMs", ms(times.waited.total))
      .member("longestWaitMs", ms(times.waited.longest))
      .member("ranMs", ms(times.ran.total))
      .member("longestRunMs", ms(times.ran.longest));
}

void TasksReport::write_times(JsonWriter& json, FrameId site, const Times& times) const {
  json.member("method", tasks_.frame(site).method)
      .member("module", tasks_.frame(site).module)
      .member("count", times.count)
      .member("unfinished", times.unfinished)
      .member("totalMs", ms(times.total))
      .member("longestMs", ms(times.longest));
}

void TasksReport::write_members(JsonWriter& json) const {
  write_started(json, tasks_.all());
  json.member("durationMs", ms(tasks_.span().length())).key("sites").begin_array();
  for (const auto* one : ranked(tasks_.sites(), by_spent)) {
    json.begin_object()
        .member("method", tasks_.frame(one->first).method)
        .member("module", tasks_.frame(one->first).module);
    write_started(json, one->second);
    json.end_object();
  }
  json.end_array().key("operations").begin_array();
  for (const auto* one : ranked(tasks_.operations(), by_total)) {
    json.begin_object().member("name", one->first.first).member("failed", one->second.failed);
    json.member("cancelled", one->second.cancelled);
    write_times(json, one->first.second, one->second);
    json.end_object();
  }
  json.end_array().key("awaits").begin_array();
  for (const auto* one : ranked(tasks_.awaits(), by_awaited)) {
    json.begin_object();
    write_times(json, one->first, one->second.times);
    json.key("pending").begin_array();
    for (const auto& [what, count] : one->second.pending)
      json.begin_object().member("what", what).member("count", count).end_object();
    json.end_array().end_object();
  }
  json.end_array().key("blocked").begin_array();
  for (const auto* one : ranked(tasks_.blocked(), by_total)) {
    json.begin_object();
    write_times(json, one->first, one->second);
    json.end_object();
  }
  json.end_array();
  tasks_.by_process().write_member(json);
}

void TasksReport::add_table(Page& page, PageTable table) const {
  if (table.rows.empty()) return;
  const auto all = table.rows.size();
  const auto rows = options_.rows != 0 ? options_.rows : 15;
  if (rows < all) {
    table.rows.resize(rows);
    table.note = fmt::format("{} more: -n {}", all - rows, all);
  }
  page.tables.push_back(std::move(table));
}

Page TasksReport::page() const {
  if (nothing())
    return {.summary = {"No task was seen in this trace, or none was recorded."},
            .next = "Record them: clrscope collect -p PID --profile tasks"};
  const auto& [waited, ran] = tasks_.all();
  Page page;
  page.summary.push_back(fmt::format(
      "{} started in {:.1f} s: waited {} in all to run, longest {}; ran {}, longest {}.",
      counted(waited.count, "task"), tasks_.span().seconds(), ms_text(waited.total),
      ms_text(waited.longest), ms_text(ran.total), ms_text(ran.longest)));
  if (ran.failed + ran.cancelled > 0)
    page.summary.push_back(fmt::format("{} failed, {} were cancelled.", count_text(ran.failed),
                                       count_text(ran.cancelled)));
  Times open;
  for (const auto& [operation, times] : tasks_.operations()) open.add(times);
  if (waited.unfinished + ran.unfinished + open.unfinished > 0)
    page.summary.push_back(fmt::format(
        "Not ended when the trace ended: {} that never started, {} still running, {}. Their time "
        "so far is counted.",
        counted(waited.unfinished, "task"), counted(ran.unfinished, "task"),
        counted(open.unfinished, "async operation")));

  PageTable started{.title = "Tasks by the place that started them",
                    .columns = {">COUNT", ">WAITED", ">LONGEST", ">RAN", ">LONGEST", ">FAILED",
                                ">NOT ENDED", "STARTED IN"}};
  for (const auto* one : ranked(tasks_.sites(), by_spent)) {
    const auto& [w, r] = one->second;
    started.rows.push_back({count_text(w.count), ms_text(w.total), ms_text(w.longest),
                            ms_text(r.total), ms_text(r.longest), some(r.failed),
                            some(w.unfinished + r.unfinished), tasks_.frame(one->first).method});
  }
  add_table(page, std::move(started));

  PageTable operations{.title = "Async operations, from the first await to the end",
                       .columns = {">COUNT", ">TOTAL", ">MEAN", ">LONGEST", ">FAILED", ">NOT ENDED",
                                   "OPERATION", "IN"}};
  for (const auto* one : ranked(tasks_.operations(), by_total)) {
    const auto& times = one->second;
    operations.rows.push_back({count_text(times.count), ms_text(times.total), mean_text(times),
                               ms_text(times.longest), some(times.failed), some(times.unfinished),
                               std::string{short_name(one->first.first)},
                               tasks_.frame(one->first.second).method});
  }
  add_table(page, std::move(operations));

  PageTable awaits{.title = "Awaits",
                   .columns = {">COUNT", ">AWAITED", ">MEAN", ">LONGEST", ">NOT ENDED",
                               "AWAITED IN", "STILL WAITING FOR"}};
  for (const auto* one : ranked(tasks_.awaits(), by_awaited)) {
    const auto& [times, pending] = one->second;
    std::string what;
    if (!pending.empty()) what = pending.begin()->first;
    if (pending.size() > 1) what += fmt::format(" + {}", pending.size() - 1);
    awaits.rows.push_back({count_text(times.count), ms_text(times.total), mean_text(times),
                           ms_text(times.longest), some(times.unfinished),
                           tasks_.frame(one->first).method, std::move(what)});
  }
  add_table(page, std::move(awaits));

  PageTable blocked{
      .title = "Threads blocked on tasks",
      .columns = {">COUNT", ">BLOCKED", ">MEAN", ">LONGEST", ">NOT ENDED", "BLOCKED IN"}};
  for (const auto* one : ranked(tasks_.blocked(), by_total))
    blocked.rows.push_back({count_text(one->second.count), ms_text(one->second.total),
                            mean_text(one->second), ms_text(one->second.longest),
                            some(one->second.unfinished), tasks_.frame(one->first).method});
  add_table(page, std::move(blocked));
  tasks_.by_process().add_table(page, "TASKS");
  return page;
}

}  // namespace

extern const ReportKind tasks_report{
    .name = "tasks",
    .summary = "tasks: where they were started, how long they waited, ran and were awaited",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<TasksReport>(options);
    },
};

}  // namespace clrscope::analyze
