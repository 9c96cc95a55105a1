#include <fmt/format.h>

#include <algorithm>

#include "answer/text.h"
#include "base/text.h"
#include "ops/async_stacks.h"

namespace clrscope::ops {
namespace {

using namespace inspect;
using Blocks = std::vector<Block>;

constexpr std::size_t kBelow = 7;
constexpr std::size_t kMostGroups = 200;

void add_head(Blocks& blocks, const AsyncSnapshot& seen, std::size_t groups) {
  auto text = fmt::format("{} ({})", seen.name, seen.pid);
  if (!seen.runtime.empty()) text += fmt::format(", .NET {}", seen.runtime);
  text += fmt::format(" · {} async stacks in {} groups · {} pending async methods",
                      seen.stacks.size(), groups, seen.pending);
  if (seen.target != TargetKind::kCore) text += " · paused for " + format_duration(seen.pause);
  blocks.emplace_back(Paragraph{std::move(text)});
  if (seen.timers > 0)
    blocks.emplace_back(
        Paragraph{fmt::format("{} active {}", seen.timers, seen.timers == 1 ? "timer" : "timers")});
  if (seen.over)
    blocks.emplace_back(Paragraph{
        fmt::format("compared with a snapshot taken {} earlier", format_duration(*seen.over))});
  for (const auto& note : seen.notes) blocks.emplace_back(Paragraph{"note: " + note});
  blocks.emplace_back(Gap{});
}

void add_cycle(Blocks& blocks, const AsyncCycle& cycle) {
  blocks.emplace_back(Heading{
      .text = cycle.links.size() == 1
                  ? std::string{"✖ Async deadlock: a method is waiting for itself"}
                  : fmt::format("✖ Async deadlock: {} async methods are waiting for each other",
                                cycle.links.size()),
      .tone = Tone::kHarm});
  for (const auto& link : cycle.links) {
    auto text = fmt::format("{} is waiting for {}", link.method, link.awaits_text);
    if (!link.holds.empty()) text += fmt::format(", probably holds {}", link.holds);
    blocks.emplace_back(Paragraph{std::move(text), 4});
  }
  blocks.emplace_back(Gap{});
}

std::vector<FrameLine> frame_lines(const AsyncSnapshot& seen, const AsyncGroup& group) {
  std::vector<FrameLine> lines;
  for (const auto& step : group.steps) lines.push_back(async_frame_line(seen, step));
  for (const auto thread : group.blocked_threads)
    lines.push_back({.text = fmt::format("[thread {} blocks on this task]", thread)});
  return lines;
}

void add_group(Blocks& blocks, const AsyncSnapshot& seen, const AsyncGroup& group) {
  const auto count = fmt::format("{}", group.count);
  auto text = fmt::format("{} × {}", count, wait_text(group.wait));
  if (seen.over && group.unchanged > 0) {
    text += group.unchanged == group.count ? std::string{", unchanged"}
                                           : fmt::format(", {} of them unchanged", group.unchanged);
    text += fmt::format(" for ≥ {}", format_duration(*seen.over));
  }
  blocks.emplace_back(Paragraph{std::move(text), 4 - std::min<std::size_t>(4, count.size())});
  blocks.emplace_back(FrameLines{frame_lines(seen, group), kBelow});
  blocks.emplace_back(Gap{});
}

}  // namespace

FrameLine async_frame_line(const AsyncSnapshot& seen, const AsyncStep& step) {
  FrameLine line{.text = seen.method(step)};
  if (step.state >= 0) line.place = fmt::format("await {}", step.state + 1);
  return line;
}

Document async_document(const AsyncSnapshot& seen) {
  Document page{.summary = {}};
  const auto groups = groups_of(seen);
  add_head(page.blocks, seen, groups.size());
  for (const auto& cycle : seen.cycles) add_cycle(page.blocks, cycle);
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i)
    add_group(page.blocks, seen, groups[i]);
  if (groups.size() > kMostGroups)
    page.blocks.emplace_back(Paragraph{
        fmt::format("{} more groups (use --json to show them)", groups.size() - kMostGroups)});
  return page;
}

std::string async_text(const AsyncSnapshot& seen) {
  return answer::page_text(async_document(seen), answer::kWholeLines);
}

}  // namespace clrscope::ops
