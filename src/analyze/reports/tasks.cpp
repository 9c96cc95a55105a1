// Tasks, async operations, awaits and threads that block on tasks.
#include "analyze/tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/report.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

// The entries of a map, most first.
template <class Map, class By>
std::vector<const typename Map::value_type*> ranked(const Map& map, By by) {
  std::vector<const typename Map::value_type*> all;
  for (const auto& one : map) all.push_back(&one);
  std::ranges::stable_sort(all, std::greater{}, [&](const auto* one) { return by(one->second); });
  return all;
}
std::chrono::nanoseconds by_total(const Times& times) { return times.total; }
std::chrono::nanoseconds by_awaited(const AwaitTimes& awaits) { return awaits.times.total; }
std::chrono::nanoseconds by_spent(const StartedTimes& times) {
  return sum(times.waited.total, times.ran.total);
}

// Without "Async: ", which the runtime puts before the name of an async method.
std::string_view short_name(std::string_view operation) {
  constexpr std::string_view kAsync = "Async: ";
  return operation.substr(operation.starts_with(kAsync) ? kAsync.size() : 0);
}
std::string some(std::uint64_t count) { return count > 0 ? count_text(count) : ""; }

struct TaskCounts {
  std::uint64_t count = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t never_started = 0;
  std::uint64_t unfinished = 0;
  std::chrono::nanoseconds waited{};
  std::chrono::nanoseconds longest_wait{};
  std::chrono::nanoseconds ran{};
  std::chrono::nanoseconds longest_run{};
};
const Shape& shape_of(const TaskCounts*) {
  using C = TaskCounts;
  static const auto shape = describe<C>(
      "TaskCounts", "tasks that were started: how long they waited to run, and ran",
      {member<&C::count>("count", "number of tasks started"),
       member<&C::failed>("failed", "tasks that failed"),
       member<&C::cancelled>("cancelled", "tasks that were cancelled"),
       member<&C::never_started>("neverStarted", "tasks that did not run before the trace ended"),
       member<&C::unfinished>("unfinished", "tasks that still ran when the trace ended"),
       member<&C::waited>("waitedMs", "total time they waited to run"),
       member<&C::longest_wait>("longestWaitMs", "longest wait to run"),
       member<&C::ran>("ranMs", "total time they ran"),
       member<&C::longest_run>("longestRunMs", "longest run")});
  return shape;
}
TaskCounts counts_of(const StartedTimes& times) {
  return {.count = times.waited.count,
          .failed = times.ran.failed,
          .cancelled = times.ran.cancelled,
          .never_started = times.waited.unfinished,
          .unfinished = times.ran.unfinished,
          .waited = times.waited.total,
          .longest_wait = times.waited.longest,
          .ran = times.ran.total,
          .longest_run = times.ran.longest};
}

struct TaskSite {
  Place place{};
  TaskCounts counts{};
};
const Shape& shape_of(const TaskSite*) {
  static const auto shape =
      describe<TaskSite>("TaskSite", "place that starts tasks",
                         {members_of<&TaskSite::place>(), members_of<&TaskSite::counts>()});
  return shape;
}

struct AsyncOperation {
  std::string name{};
  Place place{};
  TaskTimes times{};
};
const Shape& shape_of(const AsyncOperation*) {
  using O = AsyncOperation;
  static const auto shape =
      describe<O>("AsyncOperation", "async operations of one name, from the first await to the end",
                  {member<&O::name>("name", "runtime's name of the operation"),
                   members_of<&O::place>(), members_of<&O::times>()});
  return shape;
}

struct PendingAwait {
  std::string what{};
  std::uint64_t count = 0;
};
const Shape& shape_of(const PendingAwait*) {
  static const auto shape = describe<PendingAwait>(
      "PendingAwait", "what unfinished awaits wait for",
      {member<&PendingAwait::what>("what", "task or operation waited for"),
       member<&PendingAwait::count>("count", "number of unfinished awaits")});
  return shape;
}

struct AwaitSite {
  Place place{};
  Times times{};
  std::vector<PendingAwait> pending{};
};
const Shape& shape_of(const AwaitSite*) {
  static const auto shape =
      describe<AwaitSite>("AwaitSite", "place that awaits tasks",
                          {members_of<&AwaitSite::place>(), members_of<&AwaitSite::times>(),
                           member<&AwaitSite::pending>("pending", "what the unfinished wait for")});
  return shape;
}

struct BlockingSite {
  Place place{};
  Times times{};
};
const Shape& shape_of(const BlockingSite*) {
  static const auto shape = describe<BlockingSite>(
      "BlockingSite", "place where threads block on tasks",
      {members_of<&BlockingSite::place>(), members_of<&BlockingSite::times>()});
  return shape;
}

struct TasksAnswer {
  TaskCounts counts{};
  std::chrono::nanoseconds duration{};
  std::vector<TaskSite> sites{};
  std::vector<AsyncOperation> operations{};
  std::vector<AwaitSite> awaits{};
  std::vector<BlockingSite> blocked{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const TasksAnswer*) {
  using A = TasksAnswer;
  static const auto shape = describe<A>(
      "TasksReport", "tasks, async operations, awaits and threads that block on tasks",
      {members_of<&A::counts>(), member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::sites>("sites", "places that start tasks, most time first"),
       member<&A::operations>("operations", "async operations, longest total time first"),
       member<&A::awaits>("awaits", "places that await, longest total time first"),
       member<&A::blocked>("blocked", "places that block on tasks, longest total time first"),
       member<&A::by_process>("byProcess", "tasks and async operations of each process")});
  return shape;
}

class TasksReport final : public ReportOf<TasksAnswer> {
 public:
  explicit TasksReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    tasks_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { tasks_.end_of_trace(reader); }

  TasksAnswer result() const override;
  Document page() const override;

 private:
  Place place(FrameId site) const { return place_of(tasks_.frame(site)); }
  void add_table(Document& page, DocumentTable table) const;
  bool nothing() const {
    return tasks_.sites().empty() && tasks_.operations().empty() && tasks_.awaits().empty() &&
           tasks_.blocked().empty();
  }

  ReportOptions options_;
  Tasks tasks_;
};

TasksAnswer TasksReport::result() const {
  TasksAnswer answer{.counts = counts_of(tasks_.all()),
                     .duration = tasks_.span().length(),
                     .by_process = tasks_.by_process().all()};
  for (const auto* one : ranked(tasks_.sites(), by_spent))
    answer.sites.push_back({place(one->first), counts_of(one->second)});
  for (const auto* one : ranked(tasks_.operations(), by_total))
    answer.operations.push_back({one->first.first, place(one->first.second), one->second});
  for (const auto* one : ranked(tasks_.awaits(), by_awaited)) {
    auto& site = answer.awaits.emplace_back(AwaitSite{place(one->first), one->second.times});
    for (const auto& [what, count] : one->second.pending) site.pending.push_back({what, count});
  }
  for (const auto* one : ranked(tasks_.blocked(), by_total))
    answer.blocked.push_back({place(one->first), one->second});
  return answer;
}

void TasksReport::add_table(Document& page, DocumentTable table) const {
  if (table.rows.empty()) return;
  const auto all = table.rows.size();
  const auto rows = options_.rows != 0 ? options_.rows : 15;
  if (rows < all) {
    table.rows.resize(rows);
    table.note = fmt::format("{} more: -n {}", all - rows, all);
  }
  page.tables.push_back(std::move(table));
}

Document TasksReport::page() const {
  if (nothing())
    return {.summary = {"No tasks in this trace, or none were recorded."},
            .next = "Record them: clrscope collect -p PID --profile tasks"};
  const auto& [waited, ran] = tasks_.all();
  Document page;
  page.summary.push_back(
      fmt::format("{} started in {}: waited {} in total to run, longest {}; ran {}, longest {}.",
                  counted(waited.count, "task"), format_duration(tasks_.span().length()),
                  format_duration(waited.total), format_duration(waited.longest),
                  format_duration(ran.total), format_duration(ran.longest)));
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

  DocumentTable started{.title = "Tasks by the place that started them",
                        .columns = {">COUNT", ">WAITED", ">LONGEST", ">RAN", ">LONGEST", ">FAILED",
                                    ">NOT ENDED", "STARTED IN"}};
  for (const auto* one : ranked(tasks_.sites(), by_spent)) {
    const auto& [w, r] = one->second;
    started.rows.push_back({count_text(w.count), format_duration(w.total),
                            format_duration(w.longest), format_duration(r.total),
                            format_duration(r.longest), some(r.failed),
                            some(w.unfinished + r.unfinished), tasks_.frame(one->first).method});
  }
  add_table(page, std::move(started));

  DocumentTable operations{.title = "Async operations, from the first await to the end",
                           .columns = {">COUNT", ">TOTAL", ">MEAN", ">LONGEST", ">FAILED",
                                       ">NOT ENDED", "OPERATION", "IN"},
                           .keeps = "IN"};
  for (const auto* one : ranked(tasks_.operations(), by_total)) {
    const auto& times = one->second;
    operations.rows.push_back(
        {count_text(times.count), format_duration(times.total), format_duration(times.mean()),
         format_duration(times.longest), some(times.failed), some(times.unfinished),
         std::string{short_name(one->first.first)}, tasks_.frame(one->first.second).method});
  }
  add_table(page, std::move(operations));

  DocumentTable awaits{.title = "Awaits",
                       .columns = {">COUNT", ">AWAITED", ">MEAN", ">LONGEST", ">NOT ENDED",
                                   "AWAITED IN", "STILL WAITING FOR"},
                       .keeps = "AWAITED IN"};
  for (const auto* one : ranked(tasks_.awaits(), by_awaited)) {
    const auto& [times, pending] = one->second;
    std::string what;
    if (!pending.empty()) what = pending.begin()->first;
    if (pending.size() > 1) what += fmt::format(" + {}", pending.size() - 1);
    awaits.rows.push_back({count_text(times.count), format_duration(times.total),
                           format_duration(times.mean()), format_duration(times.longest),
                           some(times.unfinished), tasks_.frame(one->first).method,
                           std::move(what)});
  }
  add_table(page, std::move(awaits));

  DocumentTable blocked{
      .title = "Threads blocked on tasks",
      .columns = {">COUNT", ">BLOCKED", ">MEAN", ">LONGEST", ">NOT ENDED", "BLOCKED IN"}};
  for (const auto* one : ranked(tasks_.blocked(), by_total))
    blocked.rows.push_back({count_text(one->second.count), format_duration(one->second.total),
                            format_duration(one->second.mean()),
                            format_duration(one->second.longest), some(one->second.unfinished),
                            tasks_.frame(one->first).method});
  add_table(page, std::move(blocked));
  tasks_.by_process().add_table(page, "TASKS");
  return page;
}

}  // namespace

extern const ReportKind tasks_report = report_kind<TasksReport>(
    "tasks", "tasks: where they were started, how long they waited, ran and were awaited");

}  // namespace clrscope::analyze
