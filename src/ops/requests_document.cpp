#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "answer/text.h"
#include "base/text.h"
#include "ops/requests.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

constexpr std::size_t kBelow = 4;
constexpr std::size_t kFrames = 6;
constexpr std::size_t kMostShown = 200;

std::string head_of(const RequestsSnapshot& seen) {
  const auto& from = seen.async;
  auto text = fmt::format("{} ({})", from.name, from.pid);
  if (!from.runtime.empty()) text += fmt::format(", .NET {}", from.runtime);
  const auto count = seen.requests.size() + seen.cut;
  text += fmt::format(" · {} {} in flight", count, count == 1 ? "request" : "requests");
  if (from.target != TargetKind::kCore) text += " · paused for " + format_duration(from.pause);
  return text;
}

std::string title_of(const RequestInFlight& request) {
  auto text = request.age ? format_duration(*request.age) : std::string{"age unknown"};
  text += fmt::format("  {} {}", request.method.empty() ? "?" : request.method,
                      request.path.empty() ? "?" : request.path);
  if (!request.endpoint.empty()) text += fmt::format("  ({})", request.endpoint);
  if (request.upgraded) text += "  upgraded";
  return text;
}

std::string ids_of(const RequestInFlight& request) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    if (!text.empty()) text += " · ";
    text += fmt::format("{}{}", name, value);
  };
  add("trace ", request.trace_id);
  add("request ", request.request_id);
  add("", request.protocol);
  add("route ", request.route);
  return text;
}

std::vector<FrameLine> frame_lines(const RequestsSnapshot& seen, const RequestInFlight& request) {
  std::vector<FrameLine> lines;
  for (const auto& frame : request.frames)
    lines.push_back({.text = fmt::format("{}!{}", frame.module, frame.method)});
  // The innermost async method is the last frame of its thread.
  for (std::size_t i = request.frames.empty() ? 0 : 1; i < request.steps.size(); ++i)
    lines.push_back(async_frame_line(seen.async, request.steps[i]));
  return lines;
}

std::string state_of(const RequestInFlight& request) {
  if (request.thread != 0) return fmt::format("running on thread {}", request.thread);
  if (!request.wait) return "no async method of it and no thread that runs it was found";
  auto text = wait_text(*request.wait);
  if (request.stacks > 1) text += fmt::format("; the deepest of {} async stacks", request.stacks);
  return text;
}

}  // namespace

Document requests_document(const RequestsSnapshot& seen) {
  Document page{.summary = {}};
  auto& blocks = page.blocks;
  blocks.emplace_back(Paragraph{head_of(seen)});
  if (seen.requests.empty() && seen.contexts > 0)
    blocks.emplace_back(Paragraph{
        fmt::format("No request in flight: none of the {} HttpContexts in the heap is in use.",
                    seen.contexts)});
  for (const auto& note : seen.async.notes) blocks.emplace_back(Paragraph{"note: " + note});
  blocks.emplace_back(Gap{});
  std::map<std::string, std::size_t> known;  // requests with the same stack: the first one
  const auto shown = std::min(seen.requests.size(), kMostShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& request = seen.requests[i];
    blocks.emplace_back(Heading{.text = fmt::format("#{}  {}", i + 1, title_of(request))});
    if (auto ids = ids_of(request); !ids.empty())
      blocks.emplace_back(Paragraph{std::move(ids), kBelow});
    blocks.emplace_back(Paragraph{state_of(request), kBelow});
    auto lines = frame_lines(seen, request);
    std::string key;
    for (const auto& line : lines) key += line.text + line.place + '\n';
    const auto [first, is_new] = known.emplace(std::move(key), i + 1);
    if (is_new)
      blocks.emplace_back(FrameLines{std::move(lines), kFrames});
    else if (!lines.empty())
      blocks.emplace_back(Paragraph{fmt::format("same stack as #{}", first->second), kFrames});
    blocks.emplace_back(Gap{});
  }
  if (seen.requests.size() > shown)
    blocks.emplace_back(Paragraph{
        fmt::format("{} more requests (use --json to show them)", seen.requests.size() - shown)});
  return page;
}

std::string requests_text(const RequestsSnapshot& seen) {
  return answer::page_text(requests_document(seen), answer::kWholeLines);
}

}  // namespace clrscope::ops
