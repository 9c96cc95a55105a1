#include "inspect/async/answer.h"

#include "inspect/answer.h"

namespace clrscope::inspect {
namespace {

AsyncCycleAnswer cycle_answer(const AsyncCycle& cycle) {
  AsyncCycleAnswer answer{.by_semaphores = cycle.by_semaphores};
  for (const auto& link : cycle.links)
    answer.links.push_back({.method = link.method,
                            .object = address_text(link.object),
                            .awaits = link.awaits_text,
                            .awaits_object = address_text(link.awaits),
                            .holds = link.holds,
                            .frames = link.frames});
  return answer;
}

}  // namespace

AsyncWaitAnswer answer_of(const AsyncWait& wait) {
  AsyncWaitAnswer answer{.kind = wait.kind,
                         .text = wait_text(wait),
                         .type = wait.type,
                         .detail = wait.detail,
                         .free = wait.free,
                         .most = wait.most,
                         .thread = wait.thread};
  if (wait.object != 0) answer.object = address_text(wait.object);
  return answer;
}

std::vector<AsyncFrameAnswer> frames_of(const AsyncSnapshot& seen,
                                        const std::vector<AsyncStep>& steps) {
  std::vector<AsyncFrameAnswer> frames;
  for (const auto& step : steps) {
    AsyncFrameAnswer frame{.method = seen.method(step)};
    if (step.state >= 0) frame.await = step.state;
    frames.push_back(std::move(frame));
  }
  return frames;
}

AsyncStacksAnswer answer_of(const AsyncSnapshot& seen) {
  AsyncStacksAnswer answer{
      .pid = seen.pid,
      .process = seen.name,
      .runtime = seen.runtime,
      .source = seen.target == TargetKind::kCore ? HeapSource::kCore : HeapSource::kTwin,
      .pause = seen.pause,
      .duration = seen.took,
      .over = seen.over,
      .state_machines = seen.state_machines,
      .pending = seen.pending,
      .timers = seen.timers,
      .stacks = seen.stacks.size(),
      .notes = seen.notes};
  for (const auto& group : groups_of(seen)) {
    AsyncGroupAnswer one{.count = group.count,
                         .wait = answer_of(group.wait),
                         .frames = frames_of(seen, group.steps),
                         .blocked_threads = group.blocked_threads};
    if (seen.over) one.unchanged = group.unchanged;
    answer.groups.push_back(std::move(one));
  }
  for (const auto& cycle : seen.cycles) answer.cycles.push_back(cycle_answer(cycle));
  return answer;
}

const Shape& shape_of(const AsyncWaitAnswer*) {
  using T = AsyncWaitAnswer;
  static const auto shape = describe<T>(
      "AsyncWait", "what the innermost async method of a stack is waiting for",
      {member<&T::kind>("kind", "kind of wait"), member<&T::text>("text", "the wait in words"),
       member_or_null<&T::object>("object",
                                  "address of the object, null if each stack has its own"),
       member<&T::type>("type", "type of the object"),
       member_unless_empty<&T::detail>("detail", "more about the wait"),
       member<&T::free>("free", "SemaphoreSlim: free entries"),
       member<&T::most>("most", "SemaphoreSlim: maximum number of entries"),
       member_unless_empty<&T::thread>("threadOsId", "thread that runs the method now")});
  return shape;
}

const Shape& shape_of(const AsyncFrameAnswer*) {
  using T = AsyncFrameAnswer;
  static const auto shape =
      describe<T>("AsyncFrame", "an async method of a logical stack, or a task between two methods",
                  {member<&T::method>("method", "method, or a task such as Task.WhenAll"),
                   member<&T::await>("await", "number of the await it is suspended at, from 0")});
  return shape;
}

const Shape& shape_of(const AsyncGroupAnswer*) {
  using T = AsyncGroupAnswer;
  static const auto shape = describe<T>(
      "AsyncGroup", "async stacks with the same methods and the same kind of wait",
      {member<&T::count>("count", "number of stacks"),
       member<&T::unchanged>("unchanged", "stacks that did not move between two snapshots"),
       member<&T::wait>("wait", "what the innermost method is waiting for"),
       member<&T::frames>("frames", "methods, innermost first"),
       member_unless_empty<&T::blocked_threads>(
           "blockedThreads", "osId of threads that block on the outermost task; at most 8")});
  return shape;
}

const Shape& shape_of(const AsyncLinkAnswer*) {
  using T = AsyncLinkAnswer;
  static const auto shape =
      describe<T>("AsyncLink", "one async method of a cycle",
                  {member<&T::method>("method", "method that is waiting"),
                   member<&T::object>("object", "address of its task"),
                   member<&T::awaits>("awaits", "method or semaphore that it is waiting for"),
                   member<&T::awaits_object>("awaitsObject", "address of that task or semaphore"),
                   member_unless_empty<&T::holds>("holds", "semaphore that it holds, inferred"),
                   member<&T::frames>("frames", "its async stack, innermost first")});
  return shape;
}

const Shape& shape_of(const AsyncCycleAnswer*) {
  using T = AsyncCycleAnswer;
  static const auto shape = describe<T>(
      "AsyncCycle", "async methods that wait for each other",
      {member<&T::by_semaphores>("bySemaphores",
                                 "whether they wait for semaphores; who holds one is inferred"),
       member<&T::links>("links", "methods; each waits for the next")});
  return shape;
}

const Shape& shape_of(const AsyncStacksAnswer*) {
  using T = AsyncStacksAnswer;
  static const auto shape = describe<T>(
      "AsyncStacks", "logical stacks of the async methods that have not finished",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::runtime>("runtime", ".NET version"),
       member<&T::source>("source", "where the objects were read"),
       member<&T::pause>("pauseMs", "time the process was paused"),
       member<&T::duration>("durationMs", "time it took to read the heap and the stacks"),
       member<&T::over>("overMs", "time between the two snapshots"),
       member<&T::state_machines>("stateMachines", "state machines of async methods in the heap"),
       member<&T::pending>("pending", "of them, those that have not finished"),
       member<&T::timers>("timers", "active timers"),
       member<&T::stacks>("stacks", "number of async stacks"),
       member<&T::groups>("groups", "equal stacks, the largest group first"),
       member<&T::cycles>("cycles", "async deadlocks"),
       member<&T::notes>("notes", "what could not be seen, and why")});
  return shape;
}

}  // namespace clrscope::inspect
