// What the innermost method of an async stack waits for, by the object that it awaits.
#pragma once

#include <string>
#include <unordered_map>

#include "inspect/async/async.h"
#include "inspect/async/task_objects.h"

namespace clrscope::inspect {

class AwaitKinds {
 public:
  // `now`: milliseconds of the clock that the runtime's timers go by; nothing: unknown (a core).
  AwaitKinds(HeapView& heap, TaskObjects& tasks, std::optional<std::uint64_t> now)
      : heap_(heap), tasks_(tasks), now_(now) {}

  // Objects that tell about others: to be called for each object of the heap.
  void note(std::uint32_t object);
  // What the object is as something to wait for. A task of an async method is not asked about.
  AsyncWait describe(std::uint32_t awaited);

  std::uint64_t timers() const { return timers_; }
  const std::vector<std::uint32_t>& semaphores() const { return semaphores_; }

 private:
  enum class Note : std::uint8_t { kUnknown, kNothing, kSemaphore, kSource, kTimer };
  Note note_of(std::uint32_t type);

  AsyncWait delay(std::uint32_t object);
  std::uint32_t timer_of(std::uint32_t object);
  std::string socket_detail(std::uint32_t operation);
  std::string endpoint_text(std::uint32_t endpoint);
  AsyncWait semaphore(std::uint32_t node);
  AsyncWait plain_task(std::uint32_t task);
  void add_semaphore(std::uint32_t semaphore);

  HeapView& heap_;
  TaskObjects& tasks_;
  std::optional<std::uint64_t> now_;
  std::vector<Note> notes_{};  // by type
  std::vector<std::uint32_t> semaphores_{};
  std::unordered_map<std::uint32_t, std::uint32_t> semaphore_of_{};  // by its waiter
  std::unordered_map<std::uint32_t, std::uint32_t> source_of_{};     // by its task
  std::uint64_t timers_ = 0;
};

}  // namespace clrscope::inspect
