#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/text.h"
#include "base/text.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;
using Blocks = std::vector<Block>;

constexpr std::size_t kIndent = 2;

bool is_managed(const Frame& frame) {
  return frame.kind == FrameKind::kManaged || frame.kind == FrameKind::kFramework;
}

FrameLine line_of(const Frame& frame) {
  FrameLine line{
      .text = fmt::format("{}!{}", frame.module.empty() ? "?" : frame.module,
                          frame.method.empty() ? fmt::format("{:#x}", frame.pc) : frame.method)};
  if (!frame.file.empty())
    line.place =
        fmt::format("{}:{}", frame.file.substr(frame.file.find_last_of('/') + 1), frame.line);
  return line;
}

// As they are printed: native frames one by one, or each run of them as one line.
std::vector<FrameLine> frame_lines(const ThreadView& thread, const StacksStyle& style) {
  std::vector<FrameLine> lines;
  bool in_native = false;
  for (const auto& frame : thread.frames) {
    const bool named = style.native || is_managed(frame);
    if (named)
      lines.push_back(line_of(frame));
    else if (!in_native)
      lines.push_back({"[Native Frames]"});
    in_native = !named;
  }
  if (!thread.broken.empty())
    lines.push_back({fmt::format("[stack ends here: {}]", thread.broken)});
  return lines;
}

std::string thread_title(const ThreadView& thread) {
  auto title =
      fmt::format("Thread (0x{:X}): {} \"{}\"", thread.os_id(), thread.os_id(), name_of(thread));
  if (thread.runtime && thread.runtime->managed_id != 0) {
    title += fmt::format("  managed {}", thread.runtime->managed_id);
    if (thread.runtime->pool) title += ", pool";
    if (thread.runtime->background && !thread.runtime->pool) title += ", background";
  }
  if (thread.os.state != '?' || thread.running)
    title += fmt::format("  {}", name_of(state_of(thread)));
  if (!thread.os.wait_channel.empty()) title += " in " + thread.os.wait_channel;
  if (thread.os.cpu.count() != 0) title += "  CPU " + format_duration(thread.os.cpu);
  if (thread.runtime && !thread.runtime->exception_type.empty())
    title += "  handles " + thread.runtime->exception_type;
  return title;
}

void add_holds(Blocks& blocks, const Snapshot& seen, const ThreadView& thread) {
  for (const auto object : thread.holds) {
    const auto lock = std::ranges::find(seen.locks, object, &Lock::object);
    if (lock == seen.locks.end()) continue;
    auto text = fmt::format("holds {:#x} ({})", object, lock->type.empty() ? "?" : lock->type);
    if (!lock->waiters.empty()) text += fmt::format(", wanted by {}", lock->waiters.size());
    blocks.emplace_back(Paragraph{std::move(text), kIndent});
  }
}

bool is_shown(const Snapshot& seen, const ThreadView& thread, const StacksStyle& style) {
  const bool any_managed =
      std::ranges::any_of(seen.threads, [](const ThreadView& t) { return t.runtime.has_value(); });
  return style.native || thread.runtime || !any_managed;
}

void add_cycle(Blocks& blocks, const Snapshot& seen, const std::vector<std::uint32_t>& cycle) {
  blocks.emplace_back(Heading{
      .text = cycle.size() == 1
                  ? std::string{"✖ Deadlock: a thread is waiting for itself"}
                  : fmt::format("✖ Deadlock: {} threads are waiting for each other", cycle.size()),
      .tone = Tone::kHarm});
  for (const auto id : cycle)
    if (const auto* thread = find_thread(seen, id))
      blocks.emplace_back(Paragraph{
          fmt::format("{} {}", title_of(*thread), wait_text(seen, *thread)), 2 * kIndent});
  blocks.emplace_back(Gap{});
}

void add_head(Blocks& blocks, const Snapshot& seen) {
  auto text = fmt::format("{} ({})", seen.name, seen.pid);
  if (!seen.runtime.empty()) text += fmt::format(", .NET {}", seen.runtime);
  text += fmt::format(" · {} threads", seen.threads.size());
  if (seen.target == TargetKind::kLive && seen.source != SnapshotSource::kDiagnosticPort)
    text += seen.pause.count() == 0 ? std::string{" · not paused"}
                                    : " · paused for " + format_duration(seen.pause);
  blocks.emplace_back(Paragraph{std::move(text)});
  for (const auto& note : seen.notes) blocks.emplace_back(Paragraph{"note: " + note});
  blocks.emplace_back(Gap{});
  for (const auto& cycle : seen.cycles) add_cycle(blocks, seen, cycle);
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
  return text;
}

void add_threads(Blocks& blocks, const Snapshot& seen, const StacksStyle& style) {
  std::size_t hidden = 0;
  for (const auto& thread : seen.threads) {
    if (!is_shown(seen, thread, style)) {
      ++hidden;
      continue;
    }
    blocks.emplace_back(Paragraph{thread_title(thread)});
    if (auto wait = wait_text(seen, thread); !wait.empty())
      blocks.emplace_back(Paragraph{std::move(wait), kIndent});
    add_holds(blocks, seen, thread);
    blocks.emplace_back(FrameLines{frame_lines(thread, style), kIndent});
    blocks.emplace_back(Gap{});
  }
  if (hidden > 0)
    blocks.emplace_back(Paragraph{
        fmt::format("{} threads run no managed code (use --native to show them)", hidden)});
}

// Many wait each for a task or event of its own: which one does not tell them apart, and is said
// only where all wait for the same.
std::string merged_wait_text(const Snapshot& seen, const ThreadView& thread) {
  if (!thread.waiting_for || thread.waiting_for->owner_os_id != 0) return wait_text(seen, thread);
  ThreadView any{.waiting_for = thread.waiting_for};
  any.waiting_for->object = 0;
  return wait_text(seen, any);
}

struct Group {
  std::vector<const ThreadView*> threads{};
  std::string wait{};
  std::vector<FrameLine> lines{};
};

// Threads that wait alike and have the same stack, the largest group first.
std::vector<Group> groups_of(const Snapshot& seen, const StacksStyle& style) {
  std::map<std::string, Group> by_key;
  for (const auto& thread : seen.threads) {
    if (!is_shown(seen, thread, style)) continue;
    auto merged = merged_wait_text(seen, thread);
    auto wait = wait_text(seen, thread);
    auto lines = frame_lines(thread, style);
    auto key = merged;
    for (const auto& line : lines) key += "\n" + line.text + "  " + line.place;
    auto& group = by_key[key];
    const bool same = group.threads.empty() || group.wait == wait;
    group.threads.push_back(&thread);
    group.wait = std::move(same ? wait : merged);
    group.lines = std::move(lines);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_key) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::greater{}, [](const Group& g) { return g.threads.size(); });
  return groups;
}

void add_merged(Blocks& blocks, const Snapshot& seen, const StacksStyle& style) {
  constexpr std::size_t kBelow = 7;
  auto groups = groups_of(seen, style);
  std::size_t shown = 0;
  for (const auto& group : groups) shown += group.threads.size();
  blocks.emplace_back(Paragraph{fmt::format("{} threads in {} groups", shown, groups.size())});
  blocks.emplace_back(Gap{});
  for (auto& group : groups) {
    const auto count = fmt::format("{}", group.threads.size());
    blocks.emplace_back(
        Paragraph{fmt::format("{} × {}", count,
                              group.wait.empty() ? std::string{name_of(state_of(*group.threads[0]))}
                                                 : group.wait),
                  4 - std::min<std::size_t>(4, count.size())});
    std::string who;
    for (std::size_t i = 0; i < group.threads.size() && i < 3; ++i)
      who += fmt::format("{}{}", i == 0 ? "" : ", ", title_of(*group.threads[i]));
    if (group.threads.size() > 3) who += ", …";
    blocks.emplace_back(Paragraph{std::move(who), kBelow});
    blocks.emplace_back(FrameLines{std::move(group.lines), kBelow});
    blocks.emplace_back(Gap{});
  }
}

std::string thread_text(const Snapshot& seen, std::uint32_t os_id) {
  const auto* thread = find_thread(seen, os_id);
  return thread ? title_of(*thread) : fmt::format("thread {}", os_id);
}

}  // namespace

std::string wait_text(const Snapshot& seen, const ThreadView& thread) {
  if (!thread.waiting_for) return {};
  const auto& wait = *thread.waiting_for;
  switch (wait.kind) {
    case WaitKind::kSleep:
      return "sleeping";
    case WaitKind::kPoolIdle:
      return "idle thread pool worker";
    case WaitKind::kIo:
      return "waiting for I/O" + (wait.detail.empty() ? "" : ": " + wait.detail);
    case WaitKind::kTypeInitializer:
      return fmt::format("waiting for the static constructor of {}, run by {}", wait.type,
                         thread_text(seen, wait.owner_os_id));
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
  if (wait.owner_os_id != 0)
    text += fmt::format(" held by {}", thread_text(seen, wait.owner_os_id));
  if (!wait.detail.empty()) text += ", " + wait.detail;
  return text;
}

Document stacks_document(const Snapshot& seen, const StacksStyle& style) {
  Document page{.summary = {}};
  auto& blocks = page.blocks;
  add_head(blocks, seen);
  if (seen.pool) {
    blocks.emplace_back(Paragraph{pool_text(*seen.pool)});
    blocks.emplace_back(Gap{});
  }
  if (style.view == StacksView::kMerged)
    add_merged(blocks, seen, style);
  else
    add_threads(blocks, seen, style);
  return page;
}

std::string stacks_text(const Snapshot& seen, const StacksStyle& style) {
  return answer::page_text(stacks_document(seen, style), answer::kWholeLines);
}

}  // namespace clrscope::ops
