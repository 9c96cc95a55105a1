#include "analyze/tasks.h"

#include <algorithm>

#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

enum Id : std::uint32_t {
  kScheduled = 7,
  kStarted = 8,
  kCompleted = 9,
  kWaitBegin = 10,
  kWaitEnd = 11,
  kOperationBegin = 14,
  kOperationEnd = 15,
};
constexpr std::int64_t kBlocking = 1;  // of TaskWaitBehavior
enum Status : std::int64_t { kSucceeded = 1, kCancelled = 2, kFailed = 3 };

void add_until(Times& times, TraceTime begin, const std::optional<TraceTime>& end, TraceTime last) {
  times.add(std::max(between(begin, end.value_or(last)), std::chrono::nanoseconds{0}));
  times.unfinished += end ? 0 : 1;
}

void add_status(TaskTimes& times, std::int64_t status) {
  times.failed += status == kFailed ? 1 : 0;
  times.cancelled += status == kCancelled ? 1 : 0;
}

}  // namespace

const Shape& shape_of(const TaskTimes*) {
  static const auto shape = describe<TaskTimes>(
      "TaskTimes", "number, duration and outcome of tasks or async operations",
      {inherited<TaskTimes, OutcomeTimes>(),
       member<&TaskTimes::cancelled>("cancelled", "those that were cancelled")});
  return shape;
}

Tasks::Tasks() : ProviderReader(kTasksProvider) {}

void Tasks::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  read_batch(reader, batch, [&](const Event& event) { on_event(reader, event); });
  by_process_.on_batch(batch);
}

void Tasks::on_event(const nettrace::Reader& reader, const Event& event) {
  const auto& plan = trace_->plans.of(event);
  const Key key{event.process, number_field(event, plan, "TaskID")};
  switch (event.type->id) {
    case kScheduled:
    case kStarted:
    case kCompleted:
    case kOperationBegin:
    case kOperationEnd:
      return on_task(reader, event, key);
    case kWaitBegin:
    case kWaitEnd:
      return on_wait(reader, event, key);
    default:
      return;
  }
}

bool OpenTasks::Task::started_by_somebody() const {
  return scheduled || name.starts_with("Task: ") || name.starts_with("Task.ContinueWith: ");
}

// Nothing more will be told of it. A task that was cancelled may not have started, or its start is
// still to be read: it is settled when the trace ends.
bool OpenTasks::Task::settled() const {
  if (!ended) return false;
  return started_by_somebody() ? scheduled && started : begin.has_value();
}

void Tasks::on_task(const nettrace::Reader& reader, const Event& event, const Key& key) {
  const auto& plan = trace_->plans.of(event);
  if (event.type->id == kCompleted && trace_->operations) return;
  auto& task = trace_->tasks[key];
  switch (event.type->id) {
    case kOperationBegin:
      trace_->operations = true;
      task.begin = event.time;
      task.name = text_field(event, plan, "OperationName");
      task.stack = trace_->sites.stack_of(reader, event);
      break;
    case kScheduled:
      task.scheduled = event.time;
      task.stack = trace_->sites.stack_of(reader, event);
      break;
    case kStarted:
      task.started = event.time;
      break;
    case kOperationEnd:
      trace_->operations = true;
      task.ended = event.time;
      task.status = number_field(event, plan, "Status");
      break;
    default:
      task.ended = event.time;
      task.status = number_field(event, plan, "IsExceptional") != 0 ? kFailed : kSucceeded;
  }
  if (!task.settled()) return;
  settle(event.process, task);
  trace_->tasks.erase(key);
}

void Tasks::settle(ProcessId process, const Task& task) {
  by_process_.add(process);
  if (!task.scheduled) {
    auto& times = trace_->operations_by_stack[{task.name, task.stack}];
    add_until(times, *task.begin, task.ended, trace_->last);
    return add_status(times, task.status);
  }
  auto& times = trace_->started_by_stack[task.stack];
  add_until(times.waited, *task.scheduled, task.started ? task.started : task.ended, trace_->last);
  if (task.started) add_until(times.ran, *task.started, task.ended, trace_->last);
  add_status(times.ran, task.status);
}

void Tasks::on_wait(const nettrace::Reader& reader, const Event& event, const Key& key) {
  const std::pair thread{event.thread, key};
  if (event.type->id == kWaitBegin) {
    const Begin begin{event.time, trace_->sites.stack_of(reader, event)};
    if (number_field(event, trace_->plans.of(event), "Behavior") == kBlocking)
      trace_->blocked[thread] = begin;
    else
      on_await(key, begin, {});
    return;
  }
  // The end does not say of which kind it is. A thread that blocks ends its own wait.
  const auto found = trace_->blocked.find(thread);
  if (found == trace_->blocked.end()) return on_await(key, {}, event.time);
  add_until(trace_->blocked_by_stack[found->second.stack], found->second.time, event.time,
            trace_->last);
  trace_->blocked.erase(found);
}

// Where several await one task, the earliest beginning goes with the earliest end after it: the
// runtime continues them in that order.
void Tasks::on_await(const Key& key, std::optional<Begin> begin, TraceTime end) {
  auto& [begins, ends] = trace_->awaited[key];
  if (begin) {
    const auto match = std::ranges::find_if(ends, [&](auto time) { return time >= begin->time; });
    if (match == ends.end()) return begins.push_back(*begin);
    end = *match;
    ends.erase(match);
  } else {
    const auto match = std::ranges::find_if(begins, [&](auto& one) { return one.time <= end; });
    if (match == begins.end()) return ends.push_back(end);
    begin = *match;
    begins.erase(match);
  }
  if (begins.empty() && ends.empty()) trace_->awaited.erase(key);
  add_until(trace_->awaits_by_stack[begin->stack].times, begin->time, end, trace_->last);
}

// What an await that has not ended waits for, as far as the trace tells.
std::string Tasks::what(const Key& key) {
  const auto found = trace_->tasks.find(key);
  if (found == trace_->tasks.end()) return "unknown task";
  const auto& task = found->second;
  if (task.scheduled) return "task started in " + frame(trace_->sites.task_site(task.stack)).method;
  return task.begin ? task.name : "unknown task";
}

void Tasks::settle_open() {
  for (const auto& [key, task] : trace_->tasks)
    if (task.scheduled || task.begin)
      settle(key.first, task);  // the others are older than the trace
  for (const auto& [key, waiting] : trace_->awaited)
    for (const auto& begin : waiting.begins) {
      auto& awaits = trace_->awaits_by_stack[begin.stack];
      add_until(awaits.times, begin.time, std::nullopt, trace_->last);
      ++awaits.pending[what(key)];
    }
  for (const auto& [thread, begin] : trace_->blocked)
    add_until(trace_->blocked_by_stack[begin.stack], begin.time, std::nullopt, trace_->last);
}

void Tasks::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  if (trace_) resolve();
  by_process_.end_of_trace();
}

// Everything has its names: stacks become places.
void Tasks::resolve() {
  settle_open();
  auto& sites = trace_->sites;
  for (const auto& [stack, times] : trace_->started_by_stack) {
    sites_[sites.task_site(stack)].add(times);
    all_.add(times);
  }
  for (const auto& [key, times] : trace_->operations_by_stack)
    operations_[{key.first, sites.task_site(key.second)}].add(times);
  for (const auto& [stack, awaits] : trace_->awaits_by_stack) {
    auto& sum = awaits_[sites.task_site(stack)];
    sum.times.add(awaits.times);
    for (const auto& [name, count] : awaits.pending) sum.pending[name] += count;
  }
  for (const auto& [stack, times] : trace_->blocked_by_stack)
    blocked_[sites.task_site(stack)].add(times);
  trace_.reset();
}

}  // namespace clrscope::analyze
