#include "base/json.h"
#include "ops/forward.h"

namespace clrscope::ops {

std::string ForwardStatus::json() const {
  JsonWriter json;
  json.begin_object()
      .member("pid", pid)
      .member("config", config)
      .member("upSeconds", up.count())
      .member("cpuPercent", cpu_percent)
      .member("rssBytes", memory_bytes)
      .member("reloads", reloads)
      .member("lastReload", last_reload)
      .key("processes")
      .begin_array();
  for (const auto& one : processes)
    json.begin_object()
        .member("pid", one.pid)
        .member("name", one.name)
        .member("runtime", one.runtime)
        .member("sessions", one.sessions)
        .member("events", one.events)
        .member("eventsPerSecond", one.events_per_second)
        .member("ended", one.ended)
        .end_object();
  json.end_array().key("sinks").begin_array();
  for (const auto& one : sinks) {
    json.begin_object()
        .member("to", one.to)
        .member("events", one.summary.events)
        .member("values", one.summary.counters)
        .member("perSecond", one.events_per_second)
        .member("dropped", one.summary.dropped)
        .member("lost", one.summary.lost)
        .member("leftOut", one.summary.left_out)
        .member("failures", one.summary.failures)
        .member("lastFailure", one.summary.last_failure)
        .member("lagMs", std::chrono::duration<double, std::milli>(one.summary.lag).count())
        .member("state", one.summary.state);
    if (one.summary.delivered) json.member("delivered", *one.summary.delivered);
    json.key("notices").begin_array();
    for (const auto& text : one.summary.notices) json.value(text);
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace clrscope::ops
