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

double seconds_of(std::chrono::nanoseconds time) {
  return std::max(std::chrono::duration<double>(time).count(), 1e-3);
}

template <class Seen>
void add_price(Document& page, const Seen& seen) {
  const auto share =
      100 * std::chrono::duration<double>(seen.callback_time).count() / seconds_of(seen.duration);
  page.summary.push_back(
      fmt::format("The agent took {} on the threads of the process ({:.2f} % of one processor).",
                  format_duration(seen.callback_time), share));
  if (!seen.dropped.empty())
    page.summary.push_back(fmt::format("Not recorded: {}.", drops_text(seen.dropped)));
}

void add_stack(Document& page, std::string title, const std::vector<std::string>& stack) {
  if (stack.empty()) return;
  page.blocks.emplace_back(Heading{.text = std::move(title)});
  FrameLines lines{.frames = {}, .indent = 2};
  for (std::size_t i = 0; i < std::min(stack.size(), kMostFramesShown); ++i)
    lines.frames.push_back({.text = stack[i]});
  page.blocks.emplace_back(std::move(lines));
}

}  // namespace

const Shape& shape_of(const AgentDrop*) {
  using A = AgentDrop;
  static const auto shape =
      describe<A>("AgentDrop", "something that the agent could not record",
                  {member<&A::reason>("reason",
                                      "why: ringFull, ringsBusy, nameTableFull, "
                                      "nameTextFull, overBudget (no stack taken), "
                                      "stackFailed, stackCut, objectsFull (not followed), "
                                      "damaged"),
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

const Shape& shape_of(const LockOwner*) {
  using A = LockOwner;
  static const auto shape =
      describe<A>("AgentLockOwner", "a thread that had a lock while others waited for it",
                  {member<&A::os_id>("osId", "thread id, as the process numbers it"),
                   member<&A::count>("count", "waits that began while it had the lock")});
  return shape;
}

const Shape& shape_of(const ContentionSite*) {
  using A = ContentionSite;
  static const auto shape = describe<A>(
      "AgentContentionSite", "waits for locks at one place",
      {member<&A::method>("method", "the method that wanted the lock"),
       member<&A::count>("count", "how often it waited"),
       member<&A::waited>("waitMs", "how long it waited in total"),
       member<&A::longest>("longestMs", "longest wait"),
       member<&A::owners>("owners", "threads that had the lock when a wait began, most first"),
       member<&A::stack>("stack", "the stack that waited longest, innermost frame first")});
  return shape;
}

const Shape& shape_of(const AgentContention*) {
  using A = AgentContention;
  static const auto shape = describe<A>(
      "AgentContention", "waits for locks that the agent saw",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long it listened"),
       member<&A::contentions>("contentions", "how many waits ended; exact"),
       member<&A::recorded>("recorded", "how many of them are in sites"),
       member<&A::waited>("waitMs", "how long threads waited in total"),
       member<&A::sites>("sites", "by method, the longest waits first"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::callback_time>("callbackMs", "time the agent took on the threads of the app")});
  return shape;
}

const Shape& shape_of(const AllocationSite*) {
  using A = AllocationSite;
  static const auto shape =
      describe<A>("AgentAllocationSite", "allocations by one method",
                  {member<&A::method>("method", "the method that allocates"),
                   member<&A::bytes>("bytes", Unit::kBytes, "estimate of what it allocated")});
  return shape;
}

const Shape& shape_of(const AllocatedType*) {
  using A = AllocatedType;
  static const auto shape = describe<A>(
      "AgentAllocatedType", "allocations of one type",
      {member<&A::type>("type", "type of the objects"),
       member<&A::samples>("samples", "allocations that the runtime reported"),
       member<&A::bytes>("bytes", Unit::kBytes, "estimate of all allocations of the type"),
       member<&A::sites>("sites", "methods that allocate it, most bytes first"),
       member<&A::stack>("stack", "the stack with most bytes, innermost frame first")});
  return shape;
}

const Shape& shape_of(const AgentAllocations*) {
  using A = AgentAllocations;
  static const auto shape = describe<A>(
      "AgentAllocations", "allocations that the agent saw",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long it listened"),
       member<&A::samples>("samples",
                           "allocations that the runtime reported: about one per 100 KB"),
       member<&A::bytes>("bytes", Unit::kBytes, "estimate of all allocations"),
       member<&A::types>("types", "by type, most bytes first"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::callback_time>("callbackMs", "time the agent took on the threads of the app")});
  return shape;
}

const Shape& shape_of(const SurvivorPlace*) {
  using A = SurvivorPlace;
  static const auto shape = describe<A>(
      "AgentSurvivorPlace", "what became of the objects of one type that one method allocates",
      {member<&A::type>("type", "type of the objects"),
       member<&A::method>("method", "the method that allocates them"),
       member<&A::samples>("samples", "objects that were followed"),
       member<&A::bytes>("bytes", Unit::kBytes, "estimate of what was allocated"),
       member<&A::survived_one>("survivedOneBytes", Unit::kBytes,
                                "of it: survived its first collection"),
       member<&A::survived_two>("survivedTwoBytes", Unit::kBytes,
                                "of it: survived its second collection too"),
       member<&A::died>("diedBytes", Unit::kBytes, "of it: seen dead in its first or second"),
       member<&A::stack>("stack", "the stack with most bytes, innermost frame first")});
  return shape;
}

const Shape& shape_of(const AgentSurvivors*) {
  using A = AgentSurvivors;
  static const auto shape = describe<A>(
      "AgentSurvivors", "what became of sampled objects in the next garbage collections",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long it listened"),
       member<&A::collections>("collections", "garbage collections in that time"),
       member<&A::samples>("samples", "objects that were followed"),
       member<&A::bytes>("bytes", Unit::kBytes, "estimate of what was allocated"),
       member<&A::survived_one>("survivedOneBytes", Unit::kBytes,
                                "of it: survived its first collection"),
       member<&A::survived_two>("survivedTwoBytes", Unit::kBytes,
                                "of it: survived its second collection too"),
       member<&A::places>("places", "by type and method, most surviving bytes first"),
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
  page.summary.push_back(fmt::format(
      "{} exceptions in {} ({:.1f} per second).", seen.exceptions, format_duration(seen.duration),
      static_cast<double>(seen.exceptions) / seconds_of(seen.duration)));
  add_price(page, seen);
  if (seen.by_type.empty()) return page;
  DocumentTable table{.columns = {">COUNT", "TYPE", ">TO CATCH", "THROWN IN", "CAUGHT IN"}};
  for (const auto& type : seen.by_type)
    table.rows.push_back({std::to_string(type.count), type.type, time_or_empty(type.mean_to_catch),
                          first_method(type.thrown_in), first_method(type.caught_in)});
  page.tables.push_back(std::move(table));
  add_stack(page, fmt::format("Most frequent stack of {}", seen.by_type.front().type),
            seen.by_type.front().stack);
  return page;
}

Document contention_document(const AgentContention& seen) {
  Document page;
  page.summary.push_back(fmt::format("{} waits for locks in {}; threads waited {} in total.",
                                     seen.contentions, format_duration(seen.duration),
                                     format_duration(seen.waited)));
  add_price(page, seen);
  if (seen.sites.empty()) return page;
  DocumentTable table{.columns = {">COUNT", ">WAITED", ">LONGEST", "METHOD"}};
  for (const auto& site : seen.sites)
    table.rows.push_back({std::to_string(site.count), format_duration(site.waited),
                          format_duration(site.longest), site.method});
  page.tables.push_back(std::move(table));
  const auto& first = seen.sites.front();
  if (!first.owners.empty())
    page.summary.push_back(
        fmt::format("Thread {} had the lock of {} most often while others waited.",
                    first.owners.front().os_id, first.method));
  add_stack(page, "Stack that waited longest", first.stack);
  return page;
}

Document allocations_document(const AgentAllocations& seen) {
  Document page;
  const auto rate = static_cast<double>(seen.bytes) / seconds_of(seen.duration);
  page.summary.push_back(
      fmt::format("About {} allocated in {} ({} per second), estimated from {} samples.",
                  format_bytes(seen.bytes), format_duration(seen.duration),
                  format_bytes(static_cast<std::uint64_t>(rate)), seen.samples));
  add_price(page, seen);
  if (seen.types.empty()) return page;
  DocumentTable table{.columns = {">BYTES", ">SAMPLES", "TYPE", "ALLOCATED IN"}};
  for (const auto& type : seen.types)
    table.rows.push_back({format_bytes(type.bytes), std::to_string(type.samples), type.type,
                          type.sites.empty() ? "" : type.sites.front().method});
  page.tables.push_back(std::move(table));
  add_stack(page, fmt::format("Stack that allocates most of {}", seen.types.front().type),
            seen.types.front().stack);
  return page;
}

Document survivors_document(const AgentSurvivors& seen) {
  Document page;
  page.summary.push_back(
      fmt::format("{} sampled objects were followed through {} garbage collections in {}.",
                  seen.samples, seen.collections, format_duration(seen.duration)));
  page.summary.push_back(fmt::format(
      "Of about {} allocated, {} survived one collection and {} survived two.",
      format_bytes(seen.bytes), format_bytes(seen.survived_one), format_bytes(seen.survived_two)));
  if (seen.collections == 0)
    page.summary.push_back("No collection finished in this time: listen longer.");
  add_price(page, seen);
  if (seen.places.empty()) return page;
  DocumentTable table{
      .columns = {">ALLOCATED", ">SURVIVED 1", ">SURVIVED 2", "TYPE", "ALLOCATED IN"}};
  for (const auto& place : seen.places)
    table.rows.push_back({format_bytes(place.bytes), format_bytes(place.survived_one),
                          format_bytes(place.survived_two), place.type, place.method});
  page.tables.push_back(std::move(table));
  add_stack(page, fmt::format("Stack that allocates most of {}", seen.places.front().type),
            seen.places.front().stack);
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
