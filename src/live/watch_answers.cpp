#include "live/watch_answers.h"

#include <array>

namespace clrscope::live {

std::span<const std::string_view> names_of(WatchSeverity) {
  static constexpr std::string_view kNames[] = {"error", "warning", "info", "unknown", "none"};
  return kNames;
}

const Shape& shape_of(const WatchedProcess*) {
  using P = WatchedProcess;
  static const auto shape = describe<P>(
      "WatchedProcess", "A .NET process, and whether something is wrong with it",
      {member<&P::pid>("pid", "process id"),
       member<&P::name>("name", "process name"),
       member<&P::command_line>("commandLine", "command line"),
       member<&P::user>("user", "user it runs as"),
       member<&P::runtime>("runtime", ".NET version; empty: unknown"),
       member_unless_empty<&P::container>("container", "container it runs in"),
       member<&P::up>("upMs", "time since it started"),
       member<&P::cpu_percent>("cpuPercent", Unit::kPercent,
                               "CPU use over the last seconds, null until it is known; 100 is one "
                               "core"),
       member<&P::rss_bytes>("rssBytes", Unit::kBytes, "resident memory"),
       member<&P::memory_limit_bytes>("memoryLimitBytes", Unit::kBytes,
                                      "memory that its cgroup allows it"),
       member<&P::threads>("threads", "number of threads"),
       member<&P::requests_per_second>("requestsPerSecond",
                                       "HTTP requests that it served, from counters that are read "
                                       "anyway; null if unknown"),
       member_unless_empty<&P::requests_unknown>("requestsUnknown",
                                                 "why requestsPerSecond is unknown"),
       member<&P::reachable>("reachable", "whether its runtime can be reached"),
       member_unless_empty<&P::reason>("reason", "why it cannot be reached"),
       member_unless_empty<&P::hint>("hint", "what to do about it"),
       member<&P::is_default>("isDefault", "whether requests without a selector are about it"),
       member<&P::severity>("severity",
                            "severity of the worst finding; none: nothing found; unknown: not "
                            "checked yet, or it cannot be checked"),
       member<&P::verdict>("verdict", "title of the first finding; empty if there is none"),
       member<&P::findings>("findings", "number of findings"),
       member<&P::checked_at>("checkedAt", "time of the last check"),
       member<&P::checked_ago>("checkedAgoMs", "time since the last check"),
       member_unless_empty<&P::note>("note", "why it could not be checked, or not completely")});
  return shape;
}

const Shape& shape_of(const WatchCost*) {
  using C = WatchCost;
  static const auto shape =
      describe<C>("WatchCost", "What the last check cost",
                  {member<&C::cpu>("cpuMs", "CPU time of clrscope"),
                   member<&C::took>("durationMs", "duration of the check"),
                   member<&C::pause>("pauseMs", "time the process was paused")});
  return shape;
}

const Shape& shape_of(const WatchAnswer*) {
  using W = WatchAnswer;
  static const auto shape = describe<W>(
      "Watch", "What repeated checks of a process found last",
      {member<&W::process>("process", "the process"),
       member<&W::checked_at>("checkedAt", "time of the last check"),
       member<&W::checked_ago>("checkedAgoMs", "time since the last check"),
       member<&W::every>("everyMs", "time between checks while somebody asks"),
       member<&W::looks>("looks", "number of checks"),
       member_unless_empty<&W::ended>("ended", "why it is not checked any more"),
       member<&W::ended_at>("endedAt", "when it was seen to have ended"),
       member<&W::findings>("findings", "findings of the last check; the first is the diagnosis"),
       member<&W::history>("history",
                           "since when there is each finding, then those of earlier checks, the "
                           "newest first"),
       member<&W::examined>("examined", "what became of each examination"),
       member<&W::notes>("notes", "what could not be seen, and why"),
       member<&W::cost>("cost", "what the last check cost")});
  return shape;
}

WatchedProcess watched_process(const Process& process) {
  WatchedProcess out{.pid = process.pid,
                     .name = process.name,
                     .command_line = process.command_line,
                     .user = process.user,
                     .runtime = process.runtime,
                     .container = process.container,
                     .up = std::chrono::duration_cast<std::chrono::milliseconds>(process.up),
                     .rss_bytes = process.rss_bytes,
                     .reachable = process.reachable()};
  if (!out.reachable) {
    out.reason = process.reason;
    out.hint = process.hint;
  }
  return out;
}

std::span<const std::string_view> names_of(FindingChangeKind) {
  static constexpr std::array<std::string_view, 2> kNames{"began", "ended"};
  return kNames;
}

const Shape& shape_of(const FindingChange*) {
  using C = FindingChange;
  static const auto shape = describe<C>(
      "FindingChange", "A finding of a process has begun or ended",
      {member<&C::time>("time", "when a check saw it"),
       member<&C::change>("change", "began or ended"), member<&C::pid>("pid", "the process"),
       member<&C::process>("process", "its name"), member<&C::finding>("finding", "the finding")});
  return shape;
}

}  // namespace clrscope::live
