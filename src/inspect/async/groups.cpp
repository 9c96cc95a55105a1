#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "inspect/async/async.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostThreads = 8;

// Which of them all wait for the same object, and not each for one of its own.
bool is_shared(const AsyncWait& wait) { return wait.kind == AwaitKind::kSemaphore; }

// What tells a stack from others, with or without where its objects are.
std::string identity(const AsyncSnapshot& seen, const AsyncStack& stack, bool addresses) {
  const auto& wait = seen.waits[stack.wait];
  auto text = fmt::format("{}", static_cast<int>(wait.kind));
  if (addresses) text += fmt::format(" {:x} {:x}", wait.object, wait.task);
  for (const auto& step : stack.steps) {
    text += fmt::format("|{} {}", seen.method(step), step.state);
    if (addresses) text += fmt::format(" {:x}", step.object);
  }
  return text;
}

}  // namespace

void mark_unchanged(AsyncSnapshot& now, const AsyncSnapshot& before) {
  std::unordered_map<std::string, std::uint64_t> at_same_place;
  std::unordered_map<std::string, std::uint64_t> alike;
  for (const auto& stack : before.stacks) {
    ++at_same_place[identity(before, stack, true)];
    ++alike[identity(before, stack, false)];
  }
  for (auto& stack : now.stacks) {
    auto& left = at_same_place[identity(now, stack, true)];
    stack.unchanged = left > 0;
    if (!stack.unchanged) continue;
    --left;
    --alike[identity(now, stack, false)];
  }
  for (auto& stack : now.stacks) {
    if (stack.unchanged || !stack.old) continue;
    auto& left = alike[identity(now, stack, false)];
    stack.unchanged = left > 0;
    if (stack.unchanged) --left;
  }
}

std::vector<AsyncGroup> groups_of(const AsyncSnapshot& seen) {
  using Place = std::pair<std::uint32_t, std::int32_t>;  // method, await
  std::map<std::pair<std::string, std::vector<Place>>, AsyncGroup> by_key;
  for (const auto& stack : seen.stacks) {
    const auto& wait = seen.waits[stack.wait];
    std::vector<Place> places;
    for (const auto& step : stack.steps) places.emplace_back(step.name, step.state);
    auto key = fmt::format("{} {}", static_cast<int>(wait.kind), wait.type);
    if (is_shared(wait)) key += fmt::format(" {:x}", wait.object);
    auto& group = by_key[{std::move(key), std::move(places)}];
    if (group.count == 0) {
      group.wait = wait;
      group.steps = stack.steps;
    }
    if (group.wait.object != wait.object) group.wait.object = 0;
    if (group.wait.detail != wait.detail) group.wait.detail.clear();
    if (group.wait.thread != wait.thread) group.wait.thread = 0;
    ++group.count;
    if (stack.unchanged) ++group.unchanged;
    if (stack.blocked_thread != 0 && group.blocked_threads.size() < kMostThreads)
      group.blocked_threads.push_back(stack.blocked_thread);
  }
  std::vector<AsyncGroup> groups;
  for (auto& [key, group] : by_key) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::greater{}, &AsyncGroup::count);
  return groups;
}

std::string wait_text(const AsyncWait& wait) {
  std::string text;
  switch (wait.kind) {
    case AwaitKind::kRunning:
      return wait.thread != 0 ? fmt::format("running on thread {}", wait.thread)
                              : std::string{"running, or about to run"};
    case AwaitKind::kReady:
      return "ready to continue: what it awaited is done";
    case AwaitKind::kCycle:
      return "awaiting itself: " + wait.detail;
    case AwaitKind::kUnknown:
      text = wait.type.empty() ? "unknown" : fmt::format("unknown ({})", wait.type);
      break;
    case AwaitKind::kChannel:
    case AwaitKind::kSocket:
    case AwaitKind::kFile:
    case AwaitKind::kPipe:
    case AwaitKind::kValueTaskSource:
      text = fmt::format("{} ({})", name_of(wait.kind), wait.type);
      break;
    case AwaitKind::kTask:
      text = fmt::format("a task ({})", wait.type);
      break;
    case AwaitKind::kDelay:
    case AwaitKind::kCompletionSource:
    case AwaitKind::kSemaphore:
      text =
          wait.type.find("PeriodicTimer") != wait.type.npos ? "PeriodicTimer" : name_of(wait.kind);
      if (wait.kind == AwaitKind::kSemaphore && wait.object != 0)
        text += fmt::format(" {:#x}", wait.object);
      break;
  }
  text = "awaiting " + text;
  if (!wait.detail.empty())
    text += wait.kind == AwaitKind::kDelay ? " " + wait.detail : fmt::format(" ({})", wait.detail);
  return text;
}

}  // namespace clrscope::inspect
