#include "inspect/async/task_objects.h"

#include <algorithm>
#include <array>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kDone = 0x1600000;  // of m_stateFlags: ran to completion, failed, cancelled
constexpr std::uint8_t kValueType = 17;     // element type
constexpr std::uint64_t kMostNext = 20'000'000;  // continuations that are followed, of all tasks
constexpr std::size_t kMostHops = 16;            // from a task to what runs on
constexpr std::size_t kMostAwaiterWords = 64;
constexpr std::uint32_t kNone = HeapView::kNone;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TaskKind kind_of(std::string_view name) {
  if (has(name, "AsyncStateMachineBox")) return TaskKind::kMethod;
  if (has(name, "PoolingAsyncValueTaskMethodBuilder") && has(name, "StateMachineBox"))
    return TaskKind::kPooled;
  if (has(name, "Task+DelayPromise")) return TaskKind::kDelay;
  if (name.starts_with("System.Threading.SemaphoreSlim+TaskNode")) return TaskKind::kSemaphore;
  if (has(name, "WhenAll") || has(name, "WhenAny") || has(name, "UnwrapPromise") ||
      has(name, "OnInvokePromise") || has(name, "CancellationPromise") ||
      has(name, "OnCountdownPromise"))
    return TaskKind::kJoin;
  if (has(name, ".ContinuationTaskFrom") || has(name, ".ContinuationResultTaskFrom"))
    return TaskKind::kContinue;
  if (name == "System.Threading.Tasks.Task" || name.starts_with("System.Threading.Tasks.Task`1["))
    return TaskKind::kPlain;
  return TaskKind::kOther;
}

// Types whose name has none of these are no tasks: most are not asked about.
bool may_be_task(std::string_view name) {
  return has(name, "Task") || has(name, "Promise") || has(name, "StateMachineBox");
}

// The fields of a state machine that matter; `size` is where it ends.
TaskLayout::Machine machine_from(const TypeInfo& type, std::uint32_t less, std::uint32_t size) {
  TaskLayout::Machine machine{.type = type.name};
  for (const auto& field : type.fields) {
    if (field.offset < less) continue;
    const auto at = field.offset - less;
    if (field.name == "<>1__state") machine.state = at;
    if (!field.name.starts_with("<>u__")) continue;
    auto end = size;
    for (const auto& other : type.fields)
      if (other.offset > field.offset) end = std::min(end, other.offset - less);
    machine.awaiters.emplace_back(at, end);
  }
  return machine;
}

}  // namespace

const TaskLayout& TaskObjects::layout(std::uint32_t type) {
  auto& known = layouts_[type];
  if (!known.asked) {
    known.asked = true;
    known.layout = make_layout(type);
  }
  return known.layout;
}

TaskLayout TaskObjects::make_layout(std::uint32_t type) {
  const auto& name = heap_.graph().types[type].name;
  TaskLayout layout;
  if (!may_be_task(name)) return layout;
  const auto* const info = heap_.type(type);
  if (!info || info->component_size != 0) return layout;
  const auto offset = [&](std::string_view field) -> std::optional<std::uint32_t> {
    const auto* found = info->field(field);
    return found ? std::optional{found->offset} : std::nullopt;
  };
  layout.flags = offset("m_stateFlags");
  layout.continuation = offset("m_continuationObject");
  layout.action = offset("m_action");
  const auto kind = kind_of(name);
  const bool pooled = kind == TaskKind::kPooled && info->field("StateMachine");
  if (!pooled && (!layout.flags || !layout.continuation)) return {};
  layout.kind = kind;
  if (!layout.is_method()) return layout;
  const auto* const machine = info->field("StateMachine");
  if (!machine) return layout;
  layout.machine = machine->offset;
  layout.machine_is_object = machine->element_type != kValueType;
  if (layout.machine_is_object) return layout;
  // An object's fields are counted from its method table on, and its size with what lies before.
  if (const auto* const inside = heap_.last_argument(*info); inside && inside->base_size >= 16)
    layout.inside = machine_from(*inside, 8, inside->base_size - 16);
  return layout;
}

std::uint32_t TaskObjects::flags(std::uint32_t task) {
  const auto at = layout_of(task).flags;
  if (!at) return 0;
  return heap_.memory().get<std::uint32_t>(heap_.graph().addresses[task] + *at).value_or(0);
}

bool TaskObjects::is_completed(std::uint32_t task) {
  const auto& layout = layout_of(task);
  if (layout.flags) return (flags(task) & kDone) != 0;
  return state(task).value_or(-1) < -1;
}

const TaskLayout::Machine* TaskObjects::machine_of_type(std::uint32_t type) {
  const auto known = machines_.find(type);
  if (known != machines_.end()) return &known->second;
  const auto* const info = heap_.type(type);
  if (!info || info->base_size < 8) return nullptr;
  return &(machines_[type] = machine_from(*info, 0, info->base_size - 8));
}

std::uint32_t TaskObjects::machine_object(std::uint32_t box) {
  const auto& layout = layout_of(box);
  if (!layout.machine || !layout.machine_is_object) return kNone;
  return heap_.at(
      heap_.memory().pointer(heap_.graph().addresses[box] + *layout.machine).value_or(0));
}

std::optional<TaskObjects::Inside> TaskObjects::inside(std::uint32_t box) {
  const auto& layout = layout_of(box);
  if (!layout.machine) return std::nullopt;
  if (layout.inside) return Inside{heap_.graph().addresses[box] + *layout.machine, &*layout.inside};
  const auto object = machine_object(box);
  if (object == kNone) return std::nullopt;
  const auto* const machine = machine_of_type(heap_.graph().type_of[object]);
  if (!machine) return std::nullopt;
  return Inside{heap_.graph().addresses[object], machine};
}

std::string TaskObjects::machine_type(std::uint32_t box) {
  const auto& layout = layout_of(box);
  if (layout.inside) return layout.inside->type;
  const auto object = machine_object(box);
  return object == kNone ? std::string{} : heap_.type_name(object);
}

std::optional<std::int32_t> TaskObjects::state(std::uint32_t box) {
  const auto in = inside(box);
  if (!in || !in->machine->state) return std::nullopt;
  return heap_.memory().get<std::int32_t>(in->start + *in->machine->state);
}

std::uint32_t TaskObjects::awaited(std::uint32_t box) {
  const auto in = inside(box);
  if (!in) return kNone;
  auto first = kNone;
  std::size_t words = 0;
  for (const auto& [from, to] : in->machine->awaiters)
    for (auto at = (from + 7) / 8 * 8; at + 8 <= to && words < kMostAwaiterWords;
         at += 8, ++words) {
      const auto object = heap_.at(heap_.memory().pointer(in->start + at).value_or(0));
      if (object == kNone) continue;
      if (is_task(object)) return object;
      if (first == kNone) first = object;
    }
  return first;
}

TaskObjects::Next TaskObjects::next_of(std::uint32_t task) {
  Next next;
  const auto at = layout_of(task).continuation;
  if (!at) return next;
  const auto first =
      heap_.at(heap_.memory().pointer(heap_.graph().addresses[task] + *at).value_or(0));
  if (first == kNone) return next;
  if (!heap_.type_name(first).starts_with("System.Collections.Generic.List`1[")) {
    resolve(first, next);
    return next;
  }
  const auto items = heap_.reference(first, "_items");
  const auto size = heap_.field<std::int32_t>(first, "_size").value_or(0);
  if (items == kNone || size <= 0) return next;
  const auto start = heap_.graph().addresses[items];
  const auto length = heap_.memory().get<std::uint32_t>(start + 8).value_or(0);
  const auto count = std::min(static_cast<std::uint32_t>(size), length);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (resolved_ >= kMostNext) {
      next.cut = true;
      break;
    }
    const auto one = heap_.at(heap_.memory().pointer(start + 16 + 8 * i).value_or(0));
    if (one != kNone) resolve(one, next);
  }
  return next;
}

// From a continuation to the task that it runs on: over delegates and the runtime's own wrappers.
void TaskObjects::resolve(std::uint32_t object, Next& out) {
  ++resolved_;
  for (std::size_t hop = 0; hop < kMostHops && object != kNone; ++hop) {
    if (is_task(object)) {
      out.tasks.push_back(object);
      return;
    }
    const auto& name = heap_.type_name(object);
    if (name.ends_with("Mres")) {
      out.thread = true;
      return;
    }
    constexpr std::array<std::string_view, 5> kLeads{"m_task", "m_action", "_target",
                                                     "_continuation", "_task"};
    auto next = kNone;
    for (const auto field : kLeads)
      if (next == kNone) next = heap_.reference(object, field);
    object = next;
  }
}

}  // namespace clrscope::inspect
