#include "ops/agent_sources.h"

#include "base/text.h"
#include "wire/control.h"

namespace clrscope::ops {
namespace {

using std::chrono::seconds;

constexpr AgentSource kSources[] = {
    {"exceptions", "Exceptions",
     "every exception: type, stack, where it was caught, time from throw to catch",
     wire::kSourceExceptions, seconds{10}, "duration", "MONITOR_EXCEPTIONS, ENABLE_STACK_SNAPSHOT",
     ""},
    {"contention", "Lock waits",
     "every wait for a lock: method, stack, how long, which thread had the lock",
     wire::kSourceContention, seconds{10}, "duration", "MONITOR_EVENT_PIPE, ENABLE_STACK_SNAPSHOT",
     ""},
    {"allocations", "Allocations",
     "allocated bytes by type, method and stack, from about one allocation in 100 KB",
     wire::kSourceAllocations, seconds{10}, "duration", "MONITOR_EVENT_PIPE, ENABLE_STACK_SNAPSHOT",
     ".NET 8 and 9 report one allocation after each 100 KB, .NET 10 chooses at random"},
    {"survivors", "Survivors",
     "which sampled objects survived the next one and two garbage collections, by type and method",
     wire::kSourceSurvivors, seconds{30}, "duration",
     "BASIC_GC, MONITOR_EVENT_PIPE, ENABLE_STACK_SNAPSHOT, weak handles",
     "follows at most 4,096 objects at a time, and none beyond its second collection"},
    {"runtime", "Runtime",
     "collections, suspensions, threads, loaded modules and classes, compiled methods",
     wire::kSourceRuntime, seconds{10}, "duration",
     "BASIC_GC, MONITOR_SUSPENDS, THREADS, JIT_COMPILATION, CLASS_LOADS", ""},
    {"objects", "Every object",
     "every object allocated since the start, by type; on request also what collections move, and "
     "calls between managed and native code",
     wire::kSourceObjects, seconds{10}, "moved, transitions",
     "ENABLE_OBJECT_ALLOCATED, MONITOR_GC, MONITOR_CODE_TRANSITIONS",
     "start mode only; an allocation takes about 60 ns longer"},
    {"methods", "Methods",
     "calls, total, own, mean and longest time of methods, by probes in their code",
     wire::kSourceMethods, seconds{10},
     "duration, include, exclude, min-il, accessors, method-budget, closed",
     "ENABLE_REJIT, main profiler", "the agent cannot be removed afterwards"},
    {"cpu", "CPU samples", "samples by CPU timers of all threads: collect --sampler agent",
     wire::kSourceCpu, seconds{10}, "duration, rate", "SIGPROF",
     "at most as many samples per second as the kernel has ticks"},
    {"wall", "Wall-clock time", "where managed threads spend their time, running or waiting", 0,
     seconds{10}, "duration, rate", "ENABLE_STACK_SNAPSHOT",
     "pauses the process, for at most about 1 % of the time"},
    {"stacks", "Stacks", "managed stacks of all threads at one moment", 0, seconds{0}, "",
     "ENABLE_STACK_SNAPSHOT", "pauses the process"},
    {"heap", "Heap", "objects of the heap by type, counted inside the process", 0, seconds{0},
     "references, max-pause", ".NET 9 and later: none; .NET 8: MONITOR_EVENT_PIPE",
     "pauses the process, for about 1.5 ms per MB (.NET 8: 6 ms); the expected pause is shown "
     "before"},
};

// By a page, while it shows them; the others have commands of their own.
constexpr std::uint32_t kSwitchable = wire::kSourceExceptions | wire::kSourceContention |
                                      wire::kSourceAllocations | wire::kSourceSurvivors;

}  // namespace

std::span<const AgentSource> agent_sources() { return kSources; }

std::vector<std::string> names_of_sources(std::uint32_t bits) {
  std::vector<std::string> names;
  for (const auto& source : kSources)
    if ((source.bit & bits) != 0) names.emplace_back(source.id);
  return names;
}

Result<std::uint32_t> parse_sources(std::string_view text) {
  std::uint32_t bits = 0;
  if (text.empty() || text == "none") return bits;
  for (const auto& word : split(text, ',')) {
    std::uint32_t bit = 0;
    for (const auto& source : kSources)
      if (source.id == word) bit = source.bit & kSwitchable;
    if (bit == 0)
      return fail(Errc::kUsage, "'{}' is not a source of the agent that can be switched", word)
          .hint("use exceptions, contention, allocations or survivors, separated by commas");
    bits |= bit;
  }
  return bits;
}

const Shape& shape_of(const AgentSourceAnswer*) {
  using A = AgentSourceAnswer;
  static const auto shape = describe<A>(
      "AgentSource", "something that the agent can tell",
      {member<&A::id>("id", "its word in commands and routes"),
       member<&A::title>("title", "its name"),
       member<&A::description>("description", "what it tells"),
       member<&A::switchable>("switchable",
                              "whether it is switched on and off; else it is asked for once"),
       member<&A::duration>("durationSeconds", "default duration"),
       member_unless_empty<&A::parameters>("parameters", "what can be chosen"),
       member<&A::flags>("flags", "flags of the profiling API that it sets"),
       member<&A::at_start>("atStart", "whether it works when the agent is loaded at the start"),
       member<&A::by_attach>("byAttach", "whether it works when the agent is attached"),
       member_unless_empty<&A::limits>("limits", "what to know about its numbers")});
  return shape;
}

std::vector<AgentSourceAnswer> agent_source_answers() {
  std::vector<AgentSourceAnswer> answers;
  for (const auto& source : kSources)
    answers.push_back({.id = source.id,
                       .title = source.title,
                       .description = source.description,
                       .switchable = (source.bit & kSwitchable) != 0,
                       .duration = source.duration,
                       .parameters = source.parameters,
                       .flags = source.flags,
                       .by_attach = source.bit != wire::kSourceObjects,
                       .limits = source.limits});
  return answers;
}

}  // namespace clrscope::ops
