#include "ops/record_answer.h"

namespace clrscope::ops {

const Shape& shape_of(const CountAnswer*) {
  using A = CountAnswer;
  static const auto shape = clrscope::describe<A>(
      "HardwareCount", "a count of the processor or the kernel",
      {member<&A::name>("name", "name of the counter, as perf names it"),
       member<&A::value>("value", "the count; estimated if it was counted part of the time"),
       member<&A::counted_percent>("countedPercent", Unit::kPercent,
                                   "share of the time that it was counted")});
  return shape;
}

const Shape& shape_of(const RecordCost*) {
  using A = RecordCost;
  static const auto shape = clrscope::describe<A>(
      "RecordCost", "what a recording cost",
      {member<&A::cpu_ms>("cpuMs", Unit::kMs, "CPU time of clrscope itself"),
       member<&A::rss_bytes>("rssBytes", Unit::kBytes, "peak memory of clrscope itself"),
       member<&A::program_cpus_before>("programCpusBefore",
                                       "CPUs the program used before the recording"),
       member<&A::program_cpus_during>("programCpusDuring",
                                       "CPUs the program used during the recording")});
  return shape;
}

const Shape& shape_of(const RecordAnswer*) {
  using A = RecordAnswer;
  static const auto shape = clrscope::describe<A>(
      "RecordingResult", "a finished recording",
      {member<&A::file>("file", "file that was written; - is standard output"),
       member<&A::pid>("pid", "process id; 0 is the whole machine"),
       member<&A::process>("process", "name of the process"),
       member<&A::runtime>("runtime", "version of its runtime"),
       member<&A::duration>("durationMs", "length of the recording"),
       member<&A::events>("events", "events in the file"),
       member<&A::samples>("samples", "samples in the file"),
       member<&A::lost>("lost", "events lost by the runtime or the kernel"),
       member<&A::bytes>("bytes", Unit::kBytes, "size of the file"),
       member<&A::broken_stacks>("brokenStacks", "stacks that do not reach their root"),
       member<&A::ending>("ending", "why the recording ended"),
       member<&A::late>("late", "events written after later ones"),
       member<&A::waits>("waits", "waits of threads in the file"),
       member<&A::perf_events>("perfEvents", "events of --perf-events in the file"),
       member<&A::broken_by_reason>("brokenByReason", "broken stacks by reason"),
       member<&A::rewritten>("rewritten", "why the file is not the runtime's own bytes"),
       member<&A::notes>("notes", "what is missing and why, a line each"),
       member<&A::counts>("counts", "hardware and kernel counters"),
       member<&A::no_hardware_counters>("noHardwareCounters", "why there are no hardware counters"),
       member<&A::cost>("cost", "what the recording cost")});
  return shape;
}

RecordAnswer answer_of(const RecordSummary& s) {
  RecordAnswer answer{.file = s.file,
                      .pid = s.process.pid,
                      .process = s.process.name,
                      .runtime = s.process.runtime,
                      .duration = s.outcome.recorded,
                      .events = s.events,
                      .samples = s.samples,
                      .lost = s.lost,
                      .bytes = s.bytes,
                      .broken_stacks = s.broken_stacks,
                      .ending = ending_of(s),
                      .late = s.late,
                      .rewritten = unless_empty(s.rewritten),
                      .notes = s.notes,
                      .cost = {.cpu_ms = s.cpu_ms, .rss_bytes = s.rss_bytes}};
  if (s.switches > 0) answer.waits = s.switches;
  if (s.perf_events > 0) answer.perf_events = s.perf_events;
  if (s.broken_stacks > 0) answer.broken_by_reason = s.broken_by_reason;
  if (s.counts) {
    auto& counts = answer.counts.emplace();
    for (const auto& one : s.counts->counted)
      counts.push_back({one.name, one.value, 100 * one.share});
    answer.no_hardware_counters = unless_empty(s.counts->no_hardware);
  }
  if (s.program_cost) {
    answer.cost.program_cpus_before = s.program_cost->cpus_before;
    answer.cost.program_cpus_during = s.program_cost->cpus_during;
  }
  return answer;
}

}  // namespace clrscope::ops
