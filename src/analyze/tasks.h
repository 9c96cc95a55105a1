// Tasks in a trace, as TplEventSource tells of them: where they were started, how long they waited
// and ran; async operations from their first await to their end; awaits; threads that block on a
// task.
//
// What is kept grows with distinct places, and with tasks that are under way. A trace tells thread
// by thread, so that the end of a thing may be read before its beginning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/by_process.h"
#include "analyze/provider_reader.h"

namespace clrscope::analyze {

struct TaskTimes : OutcomeTimes {
  std::uint64_t cancelled = 0;  // of them

  using OutcomeTimes::add;
  void add(const TaskTimes& more) {
    OutcomeTimes::add(more);
    cancelled += more.cancelled;
  }
};
const Shape& shape_of(const TaskTimes*);

// Of tasks that somebody started.
struct StartedTimes {
  TaskTimes waited{};  // from scheduling to start; unfinished: never started
  TaskTimes ran{};     // from start to end; unfinished: never ended
  void add(const StartedTimes& more) { waited.add(more.waited), ran.add(more.ran); }
};
struct AwaitTimes {
  Times times{};
  std::map<std::string, std::uint64_t> pending{};  // what those wait for that have not ended
};

struct OpenTasks {
  using Key = std::pair<ProcessId, std::int64_t>;  // of a task
  // A task that somebody started, or an operation that only has a beginning and an end.
  struct Task {
    std::optional<TraceTime> begin{}, scheduled{}, started{}, ended{};
    std::int64_t status = 0;           // AsyncCausalityStatus
    std::string name{};                // of the operation
    StackId stack = StackId::kNone;    // of the scheduling; of an operation: of its beginning
    bool started_by_somebody() const;  // or will be
    bool settled() const;
  };
  struct Begin {
    TraceTime time{};
    StackId stack = StackId::kNone;
  };
  struct Awaited {  // of one task: continuations that wait for it, and those that came unmatched
    std::vector<Begin> begins{};
    std::vector<TraceTime> ends{};
  };
  std::map<Key, Task> tasks;
  std::map<Key, Awaited> awaited;
  std::map<std::pair<ThreadId, Key>, Begin> blocked;
  std::map<StackId, StartedTimes> started_by_stack;
  std::map<std::pair<std::string, StackId>, TaskTimes> operations_by_stack;
  std::map<StackId, AwaitTimes> awaits_by_stack;
  std::map<StackId, Times> blocked_by_stack;
  bool operations = false;  // present in the trace: they then mark the end of tasks
};

class Tasks : public ProviderReader<OpenTasks> {
 public:
  using Operation = std::pair<std::string, FrameId>;  // "Async: <Pay>d__3", "Task.Delay"

  Tasks();

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  const StartedTimes& all() const { return all_; }
  const std::map<FrameId, StartedTimes>& sites() const { return sites_; }
  const std::map<Operation, TaskTimes>& operations() const { return operations_; }
  const std::map<FrameId, AwaitTimes>& awaits() const { return awaits_; }
  const std::map<FrameId, Times>& blocked() const { return blocked_; }
  const ByProcess& by_process() const { return by_process_; }  // tasks and operations

 private:
  using Key = OpenTasks::Key;
  using Task = OpenTasks::Task;
  using Begin = OpenTasks::Begin;

  void on_event(const nettrace::Reader& reader, const Event& event);
  void on_task(const nettrace::Reader& reader, const Event& event, const Key& key);
  void on_wait(const nettrace::Reader& reader, const Event& event, const Key& key);
  void on_await(const Key& key, std::optional<Begin> begin, TraceTime end);
  void settle(ProcessId process, const Task& task);
  void settle_open();
  void resolve();
  std::string what(const Key& key);

  StartedTimes all_;
  std::map<FrameId, StartedTimes> sites_;
  std::map<Operation, TaskTimes> operations_;
  std::map<FrameId, AwaitTimes> awaits_;
  std::map<FrameId, Times> blocked_;
  ByProcess by_process_;
};

}  // namespace clrscope::analyze
