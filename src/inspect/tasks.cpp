#include "inspect/tasks.h"

#include <deque>
#include <unordered_set>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kDone = 0x1600000;  // of m_stateFlags: ran to completion, failed, cancelled
constexpr std::size_t kMostChain = 64;
constexpr std::size_t kMostVisited = 4000;
constexpr std::size_t kMostReferences = 512;

bool is_async_method(const TypeInfo& type) {
  return type.name.find("AsyncStateMachineBox") != std::string::npos;
}

// The task among those that `task` holds which will run it on.
std::uint64_t awaited_by(Objects& objects, std::uint64_t task, bool& any_done) {
  for (const auto other : objects.references(task, kMostReferences)) {
    const auto* type = objects.type_of(other);
    if (!type || !is_task(*type)) continue;
    if (is_completed(objects, other)) {
      any_done = true;
      continue;
    }
    const auto next = objects.reference(other, "m_continuationObject");
    if (next != 0 && (next == task || leads_to(objects, next, task))) return other;
  }
  return 0;
}

}  // namespace

bool is_task(const TypeInfo& type) {
  return type.field("m_stateFlags") != nullptr && type.field("m_continuationObject") != nullptr;
}

bool is_completed(Objects& objects, std::uint64_t task) {
  return (objects.field<std::uint32_t>(task, "m_stateFlags").value_or(0) & kDone) != 0;
}

std::string async_method_of(std::string_view type_name) {
  // …AsyncStateMachineBox`1[System.Int32,Shop.Cart+<Load>d__3]: the compiler's name of the method
  const auto close = type_name.rfind(">d__");
  const auto open = close == type_name.npos ? close : type_name.rfind("+<", close);
  if (open == type_name.npos) return {};
  const auto before = type_name.find_last_of("[,", open);
  const auto start = before == type_name.npos ? 0 : before + 1;
  auto type = type_name.substr(start, open - start);
  while (type.starts_with(' ')) type.remove_prefix(1);
  return std::string{type} + "." + std::string{type_name.substr(open + 2, close - open - 2)};
}

std::string title_of_task(Objects& objects, std::uint64_t task) {
  auto type = objects.type_name(task);
  auto method = async_method_of(type);
  return method.empty() ? type : method + "()";
}

bool leads_to(Objects& objects, std::uint64_t start, std::uint64_t wanted) {
  std::deque<std::uint64_t> next{start};
  std::unordered_set<std::uint64_t> visited{start};
  while (!next.empty()) {
    const auto object = next.front();
    next.pop_front();
    if (object == wanted) return true;
    const auto* type = objects.type_of(object);
    if (!type || is_task(*type) || type->name == "System.Threading.Thread") continue;
    for (const auto other : objects.references(object, kMostReferences)) {
      if (other == wanted) return true;
      if (visited.size() < kMostVisited && visited.insert(other).second) next.push_back(other);
    }
  }
  return false;
}

TaskChain follow_task(Objects& objects, std::uint64_t task) {
  TaskChain chain{.tasks = {task}};
  std::unordered_set<std::uint64_t> seen{task};
  while (chain.tasks.size() < kMostChain) {
    const auto current = chain.tasks.back();
    bool any_done = false;
    const auto* type = objects.type_of(current);
    if (!type || !is_async_method(*type)) break;
    const auto next = awaited_by(objects, current, any_done);
    if (next == 0) chain.ready = any_done && !is_completed(objects, current);
    if (next == 0 || !seen.insert(next).second) break;
    chain.tasks.push_back(next);
  }
  return chain;
}

}  // namespace clrscope::inspect
