// What the agent told, as JSON shapes and as text.
#include <fmt/format.h>

#include "base/text.h"
#include "ops/agent.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kMostFramesShown = 12;

std::string time_or_empty(const std::optional<std::chrono::nanoseconds>& time) {
  return time ? format_duration(*time) : "";
}

std::string first_method(const std::vector<MethodCount>& methods) {
  return methods.empty() ? "" : methods.front().method;
}

std::string drops_text(const std::vector<AgentDrop>& drops) {
  std::string text;
  for (const auto& drop : drops)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", drop.count, drop.reason);
  return text;
}

}  // namespace

const Shape& shape_of(const AgentDrop*) {
  using A = AgentDrop;
  static const auto shape =
      describe<A>("AgentDrop", "something that the agent could not record",
                  {member<&A::reason>("reason",
                                      "why: ringFull, ringsBusy, nameTableFull, "
                                      "nameTextFull, overBudget (no stack taken), "
                                      "stackFailed, stackCut, damaged"),
                   member<&A::count>("count", "how often")});
  return shape;
}

const Shape& shape_of(const MethodCount*) {
  using A = MethodCount;
  static const auto shape = describe<A>("AgentMethod", "a method and a count",
                                        {member<&A::method>("method", "name of the method"),
                                         member<&A::count>("count", "how often")});
  return shape;
}

const Shape& shape_of(const ThrownType*) {
  using A = ThrownType;
  static const auto shape = describe<A>(
      "AgentThrownType", "exceptions of one type",
      {member<&A::type>("type", "type of the exception"),
       member<&A::count>("count", "how many were recorded"),
       member<&A::caught>("caught", "how many of them were caught by managed code"),
       member<&A::mean_to_catch>("meanToCatchMs", "mean time from the throw to the catch block"),
       member<&A::longest_to_catch>("longestToCatchMs", "longest of them"),
       member<&A::thrown_in>("thrownIn", "methods that threw it, by count"),
       member<&A::caught_in>("caughtIn", "methods that caught it, by count"),
       member<&A::stack>("stack", "the most frequent stack, innermost frame first")});
  return shape;
}

const Shape& shape_of(const AgentExceptions*) {
  using A = AgentExceptions;
  static const auto shape = describe<A>(
      "AgentExceptions", "exceptions that the agent saw",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long it listened"),
       member<&A::exceptions>("exceptions", "how many were thrown; exact"),
       member<&A::recorded>("recorded", "how many of them are in byType"),
       member<&A::by_type>("byType", "by type, the most frequent first"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::callback_time>("callbackMs", "time the agent took on the threads of the app")});
  return shape;
}

const Shape& shape_of(const AgentThread*) {
  using A = AgentThread;
  static const auto shape =
      describe<A>("AgentThread", "a thread with its stack",
                  {member<&A::os_id>("osId", "thread id, as the process numbers it"),
                   member<&A::frames>("frames", "managed methods, innermost first")});
  return shape;
}

const Shape& shape_of(const AgentStacks*) {
  using A = AgentStacks;
  static const auto shape =
      describe<A>("AgentStacks", "stacks of all managed threads at one moment",
                  {member<&A::pid>("pid", "process id"),
                   member<&A::pause>("pauseMs", "how long the process was paused"),
                   member<&A::without_stack>("withoutStack", "threads that have no managed frames"),
                   member<&A::threads>("threads", "the threads"),
                   member<&A::dropped>("dropped", "what could not be recorded, by reason")});
  return shape;
}

Document exceptions_document(const AgentExceptions& seen) {
  Document page;
  const auto seconds = std::chrono::duration<double>(seen.duration).count();
  page.summary.push_back(fmt::format(
      "{} exceptions in {} ({:.1f} per second).", seen.exceptions, format_duration(seen.duration),
      static_cast<double>(seen.exceptions) / std::max(seconds, 1e-3)));
  const auto share =
      seconds > 0 ? 100 * std::chrono::duration<double>(seen.callback_time).count() / seconds : 0.0;
  page.summary.push_back(
      fmt::format("The agent took {} on the threads of the process ({:.2f} % of "
                  "one processor).",
                  format_duration(seen.callback_time), share));
  if (!seen.dropped.empty())
    page.summary.push_back(fmt::format("Not recorded: {}.", drops_text(seen.dropped)));
  if (seen.by_type.empty()) return page;
  DocumentTable table{.columns = {">COUNT", "TYPE", ">TO CATCH", "THROWN IN", "CAUGHT IN"}};
  for (const auto& type : seen.by_type)
    table.rows.push_back({std::to_string(type.count), type.type, time_or_empty(type.mean_to_catch),
                          first_method(type.thrown_in), first_method(type.caught_in)});
  page.tables.push_back(std::move(table));
  const auto& first = seen.by_type.front();
  if (first.stack.empty()) return page;
  page.blocks.emplace_back(Heading{.text = fmt::format("Most frequent stack of {}", first.type)});
  FrameLines lines{.frames = {}, .indent = 2};
  for (std::size_t i = 0; i < std::min(first.stack.size(), kMostFramesShown); ++i)
    lines.frames.push_back({.text = first.stack[i]});
  page.blocks.emplace_back(std::move(lines));
  return page;
}

Document agent_stacks_document(const AgentStacks& seen) {
  Document page;
  page.summary.push_back(
      fmt::format("{} threads with managed frames; the process was paused for "
                  "{}.",
                  seen.threads.size(), format_duration(seen.pause)));
  if (!seen.dropped.empty())
    page.summary.push_back(fmt::format("Not recorded: {}.", drops_text(seen.dropped)));
  for (const auto& thread : seen.threads) {
    page.blocks.emplace_back(Heading{.text = fmt::format("Thread {}", thread.os_id)});
    FrameLines lines{.frames = {}, .indent = 2};
    for (const auto& frame : thread.frames) lines.frames.push_back({.text = frame});
    page.blocks.emplace_back(std::move(lines));
  }
  return page;
}

}  // namespace clrscope::ops
