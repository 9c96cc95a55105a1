#include "ops/live/answers.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/table.h"
#include "base/text.h"
#include "hub/counter_json.h"
#include "ops/page_text.h"

namespace clrscope::ops {
namespace {

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string value_text(double value) {
  if (value == static_cast<double>(static_cast<std::int64_t>(value)))
    return format_count(static_cast<std::uint64_t>(std::abs(value)))
        .insert(0, value < 0 ? "-" : "");
  return fmt::format("{:.4g}", value);
}

bool chosen(const CounterHistory::Choice& choice, const hub::CounterValue& value) {
  return (choice.provider.empty() || equal_ignoring_case(choice.provider, value.provider)) &&
         (choice.name.empty() || equal_ignoring_case(choice.name, value.name));
}

// "Shop.Cart.Add(int, string)" in its parts.
struct MethodParts {
  std::string type{}, method{};
  std::vector<std::string> parameters{};
};

MethodParts parts_of(std::string_view name) {
  MethodParts parts;
  const auto open = name.find('(');
  auto head = name.substr(0, open);
  auto dot = head.rfind('.');
  if (dot != std::string_view::npos && dot > 0 && head[dot - 1] == '.') --dot;  // "Cart..ctor"
  if (dot == std::string_view::npos) {
    parts.method = head;
  } else {
    parts.type = head.substr(0, dot);
    parts.method = head.substr(dot + 1);
  }
  if (open == std::string_view::npos) return parts;
  auto list = name.substr(open + 1);
  if (list.ends_with(')')) list.remove_suffix(1);
  int depth = 0;
  std::string one;
  for (const auto c : list) {
    if (c == '<' || c == '[' || c == '(') ++depth;
    if (c == '>' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.parameters.emplace_back(trim(one));
      one.clear();
    } else {
      one += c;
    }
  }
  if (!trim(one).empty()) parts.parameters.emplace_back(trim(one));
  return parts;
}

}  // namespace

std::string counters_json(const CountersAnswer& answer, bool points) {
  JsonWriter head;
  head.begin_object();
  write_members(head, answer.source);
  head.member("intervalMs", ms(answer.interval));
  head.key("notes").begin_array();
  for (const auto& note : answer.notes) head.value(note);
  head.end_array().key("counters").begin_array();
  auto out = head.text();
  bool first = true;
  for (const auto& series : answer.series) {
    if (!std::exchange(first, false)) out += ',';
    hub::append_json_line(out, series.last);
    while (out.ends_with('\n')) out.pop_back();
    if (!points) continue;
    out.pop_back();  // its brace
    out += ",\"points\":[";
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const auto& point = series.points[i];
      JsonWriter json;
      json.begin_object()
          .member("time", iso8601(point.time))
          .member("value", point.value)
          .end_object();
      if (i != 0) out += ',';
      out += json.text();
    }
    out += "]}";
  }
  return out + "]}\n";
}

std::string counters_text(const CountersAnswer& answer) {
  auto out = fmt::format("{} ({}), .NET {}\n", answer.source.process, answer.source.pid,
                         answer.source.runtime);
  if (!answer.source.ended.empty())
    out += fmt::format("No longer live: {}.\n", answer.source.ended);
  for (const auto& note : answer.notes) out += printable(note) + "\n";
  std::string provider;
  Table table{{"COUNTER", "TAGS", ">VALUE", "UNIT"}};
  for (const auto& series : answer.series) {
    const auto& last = series.last;
    if (std::exchange(provider, last.provider) != last.provider)
      table.add({"[" + last.provider + "]", "", "", ""});
    const auto unit = last.kind == hub::CounterKind::kRate
                          ? fmt::format("{}/s", last.unit.empty() ? "count" : last.unit)
                          : last.unit;
    table.add({"  " + printable(last.name), printable(last.tags_text()),
               value_text(hub::shown_value(last)), printable(unit)});
  }
  return out + "\n" +
         (answer.series.empty() ? std::string{"No counter was told yet.\n"} : table.text());
}

std::string counter_lines(const std::vector<hub::CounterValue>& values,
                          const CounterHistory::Choice& choice) {
  std::string out;
  for (const auto& value : values)
    if (chosen(choice, value)) hub::append_json_line(out, value);
  return out;
}

std::string livemetric_json(const hub::CounterValue& value) {
  JsonWriter json;
  json.begin_object()
      .member("timestamp", iso8601(value.time))
      .member("provider", value.provider)
      .member("name", value.name)
      .member("displayName", value.display.empty() ? value.name : value.display)
      .member("unit", value.unit)
      .member("counterType", value.kind == hub::CounterKind::kRate ? "Rate" : "Metric")
      .member("tags", value.tags_text())
      .member("value",
              value.kind == hub::CounterKind::kRate ? value.value : hub::shown_value(value));
  json.key("metadata").begin_object();
  for (const auto& [name, one] : value.tags) json.member(name, one);
  return json.end_object().end_object().text();
}

std::string view_json(const ViewAnswer& answer, Topic topic) {
  JsonWriter json;
  json.begin_object().member("view", name_of(topic)).member("summary", answer.summary);
  write_members(json, answer.source);
  auto out = json.member("from", iso8601(answer.from)).end_object().text();
  if (answer.members.empty()) return out + "\n";
  out.pop_back();
  return out + "," + answer.members + "}\n";
}

std::string view_text(const ViewAnswer& answer) {
  return fmt::format("{} ({}), .NET {}, watched since {}\n\n{}", answer.source.process,
                     answer.source.pid, answer.source.runtime, iso8601(answer.source.since),
                     page_text(answer.page));
}

std::string exception_json(const NamedException& exception) {
  const auto& thrown = exception.thrown;
  JsonWriter json;
  json.begin_object()
      .member("id", thrown.id)
      .member("timestamp", iso8601(thrown.wall))
      .member("typeName", thrown.type);
  json.key("moduleName").null();  // the runtime's event does not tell
  json.member("message", thrown.message).key("activity");
  if (thrown.activity.empty())
    json.null();
  else
    json.begin_object().member("id", thrown.activity).member("idFormat", "Unknown").end_object();
  json.key("innerExceptions").begin_array().end_array();
  json.key("stack").begin_object().member("threadId", static_cast<std::uint64_t>(thrown.thread));
  json.key("threadName").null();
  json.key("frames").begin_array();
  for (const auto& frame : exception.frames) {
    const auto parts = parts_of(frame.method);
    json.begin_object().member("methodName", parts.method).key("parameterTypes").begin_array();
    for (const auto& one : parts.parameters) json.value(one);
    json.end_array()
        .member("typeName", parts.type)
        .member("moduleName", frame.module.empty() ? "" : frame.module + ".dll")
        .end_object();
  }
  json.end_array().end_object();
  json.member("hresult", fmt::format("0x{:08X}", thrown.hresult));
  return json.end_object().text();
}

std::string exception_text(const NamedException& exception) {
  const auto& thrown = exception.thrown;
  auto out = fmt::format("First chance exception at {}\n{}: {}\n", iso8601(thrown.wall),
                         printable(thrown.type), printable_lines(thrown.message));
  for (const auto& frame : exception.frames)
    out += fmt::format("   at {}\n", printable(frame.method));
  return out;
}

std::string live_status_json(const std::vector<Live::Status>& statuses) {
  JsonWriter json;
  json.begin_object().key("processes").begin_array();
  for (const auto& one : statuses) {
    json.begin_object()
        .member("pid", one.source.pid)
        .member("process", one.source.process)
        .member("live", one.source.ended.empty());
    if (!one.source.ended.empty()) json.member("ended", one.source.ended);
    json.member("sessions", one.process.sessions)
        .member("events", one.process.events)
        .member("lost", one.process.lost)
        .key("feeds")
        .begin_array();
    for (const auto& feed : one.process.feeds)
      json.begin_object()
          .member("feed", feed.key)
          .member("followers", feed.followers)
          .member("told", feed.told)
          .member("dropped", feed.dropped)
          .member("leftOut", feed.left_out)
          .end_object();
    json.end_array().end_object();
  }
  return json.end_array().end_object().text() + "\n";
}

}  // namespace clrscope::ops
