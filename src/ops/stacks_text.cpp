#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

bool is_managed(const Frame& frame) {
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
}

std::string frame_line(const Frame& frame) {
  auto line = fmt::format("{}!{}", frame.module.empty() ? "?" : frame.module,
                          frame.method.empty() ? fmt::format("{:#x}", frame.pc) : frame.method);
  if (!frame.file.empty())
    line += fmt::format("  {}:{}", frame.file.substr(frame.file.find_last_of('/') + 1), frame.line);
  return line;
}

// As they are printed: native frames one by one, or each run of them as one line.
std::vector<std::string> frame_lines(const ThreadView& thread, const StacksStyle& style) {
  std::vector<std::string> lines;
  bool in_native = false;
  for (const auto& frame : thread.frames) {
    const bool named = style.native || is_managed(frame);
    if (named)
      lines.push_back(frame_line(frame));
    else if (!in_native)
      lines.emplace_back("[Native Frames]");
    in_native = !named;
  }
  if (!thread.broken.empty()) lines.push_back(fmt::format("[stack ends here: {}]", thread.broken));
  return lines;
}

std::string thread_title(const ThreadView& thread) {
  const bool named = thread.runtime && !thread.runtime->name.empty();
  auto title = fmt::format("Thread (0x{:X}): {} \"{}\"", thread.os_id(), thread.os_id(),
                           named ? thread.runtime->name : thread.os.name);
  if (thread.runtime && thread.runtime->managed_id != 0) {
    title += fmt::format("  managed {}", thread.runtime->managed_id);
    if (thread.runtime->pool) title += ", pool";
    if (thread.runtime->background && !thread.runtime->pool) title += ", background";
  }
  if (thread.os.state != '?' || thread.running) title += fmt::format("  {}", state_text(thread));
  if (!thread.os.wait_channel.empty()) title += " in " + thread.os.wait_channel;
  if (thread.os.cpu.count() != 0) title += "  CPU " + format_duration(thread.os.cpu);
  if (thread.runtime && !thread.runtime->exception_type.empty())
    title += "  handles " + thread.runtime->exception_type;
  return title;
}

std::string holds_text(const Snapshot& seen, const ThreadView& thread) {
  std::string text;
  for (const auto object : thread.holds) {
    const auto lock = std::ranges::find(seen.locks, object, &Lock::object);
    if (lock == seen.locks.end()) continue;
    text += fmt::format("  holds {:#x} ({})", object, lock->type.empty() ? "?" : lock->type);
    if (!lock->waiters.empty()) text += fmt::format(", wanted by {}", lock->waiters.size());
    text += "\n";
  }
  return text;
}

bool is_shown(const Snapshot& seen, const ThreadView& thread, const StacksStyle& style) {
  const bool any_managed =
      std::ranges::any_of(seen.threads, [](const ThreadView& t) { return t.runtime.has_value(); });
  return style.native || thread.runtime || !any_managed;
}

std::string cycle_text(const Snapshot& seen, const std::vector<std::uint32_t>& cycle) {
  auto text = cycle.size() == 1
                  ? std::string{"✖ Deadlock: a thread waits for itself\n"}
                  : fmt::format("✖ Deadlock: {} threads wait for each other\n", cycle.size());
  for (const auto id : cycle)
    if (const auto* thread = find_thread(seen, id))
      text += fmt::format("    {} {}\n", title_of(*thread), wait_text(seen, *thread));
  return text + "\n";
}

std::string head_text(const Snapshot& seen) {
  auto text = fmt::format("{} ({})", seen.name, seen.pid);
  if (!seen.runtime.empty()) text += fmt::format(", .NET {}", seen.runtime);
  text += fmt::format(" · {} threads", seen.threads.size());
  if (seen.target == TargetKind::kLive && seen.source != "diagnostic port")
    text += seen.pause.count() == 0 ? std::string{" · not paused"}
                                    : " · paused for " + format_duration(seen.pause);
  text += "\n";
  for (const auto& note : seen.notes) text += "note: " + note + "\n";
  text += "\n";
  for (const auto& cycle : seen.cycles) text += cycle_text(seen, cycle);
  return text;
}

std::string pool_text(const Pool& pool) {
  std::string text = "Thread pool:";
  const auto add = [&](const std::optional<std::uint32_t>& value, std::string_view words) {
    if (value) text += fmt::format("{} {} {}", text.ends_with(':') ? "" : ",", *value, words);
  };
  add(pool.workers, "workers");
  add(pool.min_workers, "at least");
  add(pool.max_workers, "at most");
  add(pool.blocked, "blocked in waits");
  add(pool.added_for_blocking, "added for blocked ones");
  add(pool.queued, "items queued");
  return text + "\n";
}

std::string threads_text(const Snapshot& seen, const StacksStyle& style) {
  std::string text;
  std::size_t hidden = 0;
  for (const auto& thread : seen.threads) {
    if (!is_shown(seen, thread, style)) {
      ++hidden;
      continue;
    }
    text += thread_title(thread) + "\n";
    if (const auto wait = wait_text(seen, thread); !wait.empty()) text += "  " + wait + "\n";
    text += holds_text(seen, thread);
    for (const auto& line : frame_lines(thread, style)) text += "  " + line + "\n";
    text += "\n";
  }
  if (hidden > 0)
    text += fmt::format("{} threads run no managed code: --native shows them\n", hidden);
  return text;
}

// Many wait each for a task or event of its own: which one does not tell them apart, and is said
// only where all wait for the same.
std::string merged_wait_text(const Snapshot& seen, const ThreadView& thread) {
  if (!thread.waiting_for || thread.waiting_for->owner_os_id != 0) return wait_text(seen, thread);
  ThreadView any{.waiting_for = thread.waiting_for};
  any.waiting_for->object = 0;
  return wait_text(seen, any);
}

std::string merged_text(const Snapshot& seen, const StacksStyle& style) {
  struct Group {
    std::vector<const ThreadView*> threads;
    std::string wait;
    std::vector<std::string> lines;
  };
  std::map<std::string, Group> by_key;
  std::size_t shown = 0;
  for (const auto& thread : seen.threads) {
    if (!is_shown(seen, thread, style)) continue;
    ++shown;
    auto merged = merged_wait_text(seen, thread);
    auto wait = wait_text(seen, thread);
    auto lines = frame_lines(thread, style);
    auto& group = by_key[fmt::format("{}\n{}", merged, fmt::join(lines, "\n"))];
    const bool same = group.threads.empty() || group.wait == wait;
    group.threads.push_back(&thread);
    group.wait = std::move(same ? wait : merged);
    group.lines = std::move(lines);
  }
  std::vector<const Group*> groups;
  for (const auto& [key, group] : by_key) groups.push_back(&group);
  std::ranges::stable_sort(groups, std::greater{},
                           [](const Group* g) { return g->threads.size(); });
  auto text = fmt::format("{} threads in {} groups\n\n", shown, groups.size());
  for (const auto* group : groups) {
    const auto& first = *group->threads[0];
    text += fmt::format("{:>4} × {}\n", group->threads.size(),
                        group->wait.empty() ? std::string{state_text(first)} : group->wait);
    std::string who;
    for (std::size_t i = 0; i < group->threads.size() && i < 3; ++i)
      who += fmt::format("{}{}", i == 0 ? "" : ", ", title_of(*group->threads[i]));
    if (group->threads.size() > 3) who += ", …";
    text += "       " + who + "\n";
    for (const auto& line : group->lines) text += "       " + line + "\n";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string_view state_text(const ThreadView& thread) {
  if (thread.running) return "running";
  switch (thread.os.state) {
    case 'R':
      return "running";
    case 'S':
    case 'I':
      return "sleeping";
    case 'D':
      return "in the kernel";
    case 'T':
      return "stopped";
    case 't':
      return "traced";
    case 'Z':
    case 'X':
      return "dead";
    default:
      return "unknown";
  }
}

std::string wait_text(const Snapshot& seen, const ThreadView& thread) {
  if (!thread.waiting_for) return {};
  const auto& wait = *thread.waiting_for;
  switch (wait.kind) {
    case WaitKind::kSleep:
      return "sleeping";
    case WaitKind::kPoolIdle:
      return "idle: a pool worker without work";
    case WaitKind::kIo:
      return "waiting for I/O" + (wait.detail.empty() ? "" : ": " + wait.detail);
    default:
      break;
  }
  std::string text{"waiting for "};
  if (wait.object == 0)
    text += fmt::format("a {}", name_of(wait.kind));
  else
    text += fmt::format(
        "{}{:#x}", wait.kind == WaitKind::kMonitor ? "" : fmt::format("{} ", name_of(wait.kind)),
        wait.object);
  if (!wait.type.empty()) text += fmt::format(" ({})", wait.type);
  if (const auto* owner = wait.owner_os_id == 0 ? nullptr : find_thread(seen, wait.owner_os_id))
    text += fmt::format(" held by {}", title_of(*owner));
  else if (wait.owner_os_id != 0)
    text += fmt::format(" held by thread {}", wait.owner_os_id);
  if (!wait.detail.empty()) text += ", " + wait.detail;
  return text;
}

std::string stacks_text(const Snapshot& seen, const StacksStyle& style) {
  auto text = head_text(seen);
  if (seen.pool) text += pool_text(*seen.pool) + "\n";
  return text +
         (style.view == StacksView::kMerged ? merged_text(seen, style) : threads_text(seen, style));
}

}  // namespace clrscope::ops
