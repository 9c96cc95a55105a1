// Tasks and state machines as objects of a heap: whether one is done, which await it is at, what it
// awaits and what goes on when it completes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/async/heap_view.h"

namespace clrscope::inspect {

enum class TaskKind : std::uint8_t {
  kNone,       // not a task
  kMethod,     // of an async method: the box of its state machine
  kPooled,     // of an async method that returns a pooled ValueTask: a box, but not a Task
  kDelay,      // Task.Delay
  kSemaphore,  // a waiter of a SemaphoreSlim
  kJoin,       // WhenAll, WhenAny, Unwrap, WaitAsync: completes with other tasks
  kContinue,   // ContinueWith
  kPlain,      // Task or Task<T> itself
  kOther,
};

// Where a type of tasks keeps things.
struct TaskLayout {
  TaskKind kind = TaskKind::kNone;
  std::optional<std::uint32_t> flags{}, continuation{}, action{};  // offsets
  // Of a box: the state machine's fields lie in it (release builds), or in an object of its own.
  std::optional<std::uint32_t> machine{};  // offset
  bool machine_is_object = false;
  struct Machine {
    std::string type{};
    std::optional<std::uint32_t> state{};                             // offset in the machine
    std::vector<std::pair<std::uint32_t, std::uint32_t>> awaiters{};  // offsets: from, to
  };
  std::optional<Machine> inside{};  // nothing: unknown, or an object of its own

  bool is_method() const { return kind == TaskKind::kMethod || kind == TaskKind::kPooled; }
};

class TaskObjects {
 public:
  explicit TaskObjects(HeapView& heap) : heap_(heap), layouts_(heap.graph().types.size()) {}

  const TaskLayout& layout_of(std::uint32_t object) {
    return layout(heap_.graph().type_of[object]);
  }
  const TaskLayout& layout(std::uint32_t type);
  bool is_task(std::uint32_t object) { return layout_of(object).kind != TaskKind::kNone; }

  std::uint32_t flags(std::uint32_t task);
  // Done, failed or cancelled. Of a pooled box: its method has ended.
  bool is_completed(std::uint32_t task);

  // Which await its method is at; nothing: unknown.
  std::optional<std::int32_t> state(std::uint32_t box);
  // What its method awaits now: the object that its awaiter holds; kNone: nothing that is known.
  std::uint32_t awaited(std::uint32_t box);
  // The type of its state machine: "Shop.Cart+<Load>d__3".
  std::string machine_type(std::uint32_t box);
  // The object that its state machine is, in debug builds and of async iterators; kNone: none.
  std::uint32_t machine_object(std::uint32_t box);

  // What goes on when the task completes.
  struct Next {
    std::vector<std::uint32_t> tasks{};
    bool thread = false;  // a thread blocks on it
    bool cut = false;     // there are more
  };
  Next next_of(std::uint32_t task);

 private:
  // Where the machine's fields are, and which.
  struct Inside {
    std::uint64_t start = 0;  // of the fields
    const TaskLayout::Machine* machine = nullptr;
  };
  std::optional<Inside> inside(std::uint32_t box);
  const TaskLayout::Machine* machine_of_type(std::uint32_t type);
  TaskLayout make_layout(std::uint32_t type);
  void resolve(std::uint32_t object, Next& out);

  struct Known {
    bool asked = false;
    TaskLayout layout{};
  };
  HeapView& heap_;
  std::vector<Known> layouts_;                                       // by type
  std::unordered_map<std::uint32_t, TaskLayout::Machine> machines_;  // of objects, by type
  std::uint64_t resolved_ = 0;
};

}  // namespace clrscope::inspect
