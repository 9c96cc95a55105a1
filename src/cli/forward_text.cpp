#include "cli/forward_text.h"

#include <fmt/format.h>

#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "ops/forward.h"

namespace clrscope::cli {
namespace {

std::string text_of(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value && value->text() ? printable(*value->text()) : "";
}

double number_of(const JsonValue& object, std::string_view name) {
  const auto* value = object.find(name);
  return value ? value->number().value_or(0) : 0;
}

std::string count_of(const JsonValue& object, std::string_view name) {
  return format_count(static_cast<std::uint64_t>(std::max(0.0, number_of(object, name))));
}

const JsonValue::Array& array_of(const JsonValue& object, std::string_view name) {
  static const JsonValue::Array kNone;
  const auto* value = object.find(name);
  return value && value->array() ? *value->array() : kNone;
}

}  // namespace

std::string forward_text(const JsonValue& status) {
  auto out = fmt::format(
      "forward {}  up {}  cpu {:.1f} %  memory {}{}\n", number_of(status, "pid"),
      format_duration(
          std::chrono::seconds{static_cast<std::int64_t>(number_of(status, "upMs") / 1000)}),
      number_of(status, "cpuPercent"),
      format_bytes(static_cast<std::uint64_t>(number_of(status, "rssBytes"))),
      text_of(status, "config").empty() ? "" : "  config " + text_of(status, "config"));
  if (number_of(status, "reloads") > 0)
    out += fmt::format("  reloaded {} times, last result: {}\n", count_of(status, "reloads"),
                       text_of(status, "lastReload"));
  out += fmt::format("\n  {:>7}  {:<24} {:<10} {:>8} {:>14} {:>10}\n", "PID", "PROCESS", "RUNTIME",
                     "SESSIONS", "EVENTS", "PER S");
  for (const auto& one : array_of(status, "processes"))
    out += fmt::format("  {:>7}  {:<24} {:<10} {:>8} {:>14} {:>10.0f}{}\n", number_of(one, "pid"),
                       text_of(one, "name"), text_of(one, "runtime"), number_of(one, "sessions"),
                       count_of(one, "events"), number_of(one, "eventsPerSecond"),
                       text_of(one, "ended").empty() ? "" : "  ended: " + text_of(one, "ended"));
  out += fmt::format("\n  {:>14} {:>12} {:>9} {:>9} {:>9} {:>9}  {}\n", "EVENTS", "VALUES", "PER S",
                     "DROPPED", "LOST", "LAG MS", "SINK");
  for (const auto& one : array_of(status, "sinks")) {
    out += fmt::format("  {:>14} {:>12} {:>9.0f} {:>9} {:>9} {:>9.1f}  {}", count_of(one, "events"),
                       count_of(one, "values"), number_of(one, "eventsPerSecond"),
                       count_of(one, "dropped"), count_of(one, "lost"), number_of(one, "lagMs"),
                       text_of(one, "to"));
    if (const auto state = text_of(one, "state"); !state.empty()) out += "  " + state;
    if (number_of(one, "leftOut") > 0)
      out += fmt::format("  values left out beyond the series limit: {}", count_of(one, "leftOut"));
    out += '\n';
    if (number_of(one, "failures") > 0)
      out += fmt::format("  {:>14} failures, last: {}\n", count_of(one, "failures"),
                         text_of(one, "lastFailure"));
  }
  std::set<std::string> notes;  // several sinks have the same
  for (const auto& one : array_of(status, "sinks"))
    for (const auto& text : array_of(one, "notes"))
      if (text.text() && notes.insert(*text.text()).second)
        out += fmt::format("\n  {}\n", printable(*text.text()));
  return out;
}

std::string sink_examples() {
  std::string all;
  for (const auto* kind : ops::sink_kinds())
    all +=
        fmt::format("{}{}{}{}", all.empty() ? "" : ", ", kind->name,
                    kind->target.starts_with('[') || kind->target.empty() ? "" : ":", kind->target);
  return all;
}

}  // namespace clrscope::cli
