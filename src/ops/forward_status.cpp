#include "ops/forward.h"

namespace clrscope::ops {

const Shape& shape_of(const ForwardStatus::Process*) {
  using A = ForwardStatus::Process;
  static const auto shape = clrscope::describe<A>(
      "ForwardProcess", "a process whose events are forwarded",
      {member<&A::pid>("pid", "process id"), member<&A::name>("name", "name of the process"),
       member<&A::runtime>("runtime", "version of the runtime"),
       member<&A::sessions>("sessions", "sessions open in it"),
       member<&A::events>("events", "events received"),
       member<&A::events_per_second>("eventsPerSecond", Unit::kPerSecond,
                                     "events received in the last second"),
       member<&A::ended>("ended", "why its events ended; empty while they arrive")});
  return shape;
}

const Shape& shape_of(const ForwardStatus::Sink*) {
  using A = ForwardStatus::Sink;
  using S = hub::SessionSummary;
  static const auto shape = clrscope::describe<A>(
      "ForwardSink", "a sink and what it received",
      {member<&A::to>("to", "the sink, as given with --to"),
       member_in<&A::summary, &S::events>("events", "events passed to it"),
       member_in<&A::summary, &S::counters>("values", "counter values passed to it"),
       member<&A::events_per_second>("eventsPerSecond", Unit::kPerSecond,
                                     "events passed to it in the last second"),
       member_in<&A::summary, &S::dropped>("dropped", "events dropped because the sink was slower"),
       member_in<&A::summary, &S::lost>("lost", "events lost by the runtimes"),
       member_in<&A::summary, &S::left_out>("leftOut",
                                            "counter values of time series beyond the limit"),
       member_in<&A::summary, &S::failures>("failures", "writes that failed"),
       member_in<&A::summary, &S::last_failure>("lastFailure",
                                                "error of the last failed write; empty if none"),
       member_in<&A::summary, &S::lag>("lagMs",
                                       "age of the newest event when the sink received it"),
       member_in<&A::summary, &S::state>("state", "the sink's own status line; empty if none"),
       member_in<&A::summary, &S::delivered>("delivered", "items its peer accepted"),
       member_in<&A::summary, &S::notices>("notes", "warnings, a line each")});
  return shape;
}

const Shape& shape_of(const ForwardStatus*) {
  using A = ForwardStatus;
  static const auto shape = clrscope::describe<A>(
      "Forward", "state of a running forward",
      {member<&A::pid>("pid", "process id of the forward"),
       member<&A::config>("config", "its configuration file; empty if none"),
       member<&A::up>("upMs", "time since its start"),
       member<&A::cpu_percent>("cpuPercent", Unit::kPercent,
                               "its average CPU use; 100 is one core"),
       member<&A::memory_bytes>("rssBytes", Unit::kBytes, "its resident memory"),
       member<&A::reloads>("reloads", "times the configuration was reloaded"),
       member<&A::last_reload>("lastReload", "ok, or why the last reload failed"),
       member<&A::processes>("processes", "processes it listens to"),
       member<&A::sinks>("sinks", "where it sends")});
  return shape;
}

std::string ForwardStatus::json() const { return json_line(*this); }

}  // namespace clrscope::ops
