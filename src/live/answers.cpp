#include "live/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/report.h"
#include "answer/text.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/table.h"
#include "base/text.h"
#include "hub/counter_json.h"

namespace clrscope::live {
namespace {

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

const Shape& shape_of(const CounterPoint*) {
  using P = CounterPoint;
  static const auto shape =
      describe<P>("CounterPoint", "A value of a counter",
                  {member<&P::time>("time", "time of the value"),
                   member<&P::value>("value", "the value; a rate per second")});
  return shape;
}

const Shape& shape_of(const CounterSeriesJson*) {
  using S = CounterSeriesJson;
  static const auto shape =
      describe<S>("CounterSeries", "A counter with its last value",
                  {members_of<&S::last>(), member<&S::points>("points", "values, oldest first")});
  return shape;
}

const Shape& shape_of(const CountersJson*) {
  using C = CountersJson;
  static const auto shape = describe<C>(
      "Counters", "Counters of a process",
      {members_of<&C::source>(), member<&C::interval>("intervalMs", "time between two values"),
       member<&C::notes>("notes", "what is missing, and why"),
       member<&C::counters>("counters", "last value of each series, and its history")});
  return shape;
}

std::string counters_json(const CountersAnswer& answer, bool points) {
  CountersJson out{.source = answer.source, .interval = answer.interval, .notes = answer.notes};
  for (const auto& series : answer.series) {
    out.counters.push_back({.last = hub::line_of(series.last)});
    if (points) out.counters.back().points = series.points;
  }
  return json_text(out) + "\n";
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
         (answer.series.empty() ? std::string{"No counter values have arrived yet.\n"}
                                : table.text());
}

std::string counters_array(const std::vector<hub::CounterValue>& values,
                           const CounterHistory::Choice& choice) {
  if (std::ranges::none_of(values, [&](const auto& value) { return chosen(choice, value); }))
    return {};
  JsonWriter json;
  json.begin_array();
  for (const auto& value : values)
    if (chosen(choice, value)) hub::write_json(json, value);
  return std::move(json.end_array()).take();
}

std::string counter_lines(const std::vector<hub::CounterValue>& values,
                          const CounterHistory::Choice& choice) {
  std::string out;
  for (const auto& value : values)
    if (chosen(choice, value)) hub::append_json_line(out, value);
  return out;
}

const Shape& shape_of(const LiveMetric*) {
  using M = LiveMetric;
  static const auto shape = describe<M>(
      "LiveMetric", "A value of a counter or meter",
      {member<&M::time>("timestamp", "time of the value"),
       member<&M::provider>("provider", "EventSource or meter"),
       member<&M::name>("name", "counter or instrument"),
       member<&M::display>("displayName", "display name"), member<&M::unit>("unit", "unit"),
       member<&M::type>("counterType", "Rate or Metric"), member<&M::tags>("tags", "tags as text"),
       member<&M::value>("value", "the value"), member<&M::metadata>("metadata", "tags by name")});
  return shape;
}

LiveMetric live_metric(const hub::CounterValue& value) {
  const bool rate = value.kind == hub::CounterKind::kRate;
  return {.time = value.time,
          .provider = value.provider,
          .name = value.name,
          .display = value.display.empty() ? value.name : value.display,
          .unit = value.unit,
          .type = rate ? "Rate" : "Metric",
          .tags = value.tags_text(),
          .value = rate ? value.value : hub::shown_value(value),
          .metadata = value.tags};
}

std::string view_json(const ViewAnswer& answer) {
  JsonWriter json;
  json.begin_object();
  write_members(json, answer);
  answer.report->write_members(json);
  return std::move(json.end_object()).take() + "\n";
}

Shape view_shape(Topic topic, std::string_view name) {
  const auto about = shape_for<ViewAnswer>().members();
  std::vector<Member> members{about.begin(), about.end()};
  const auto& own = analyze::find_report(name_of(topic))->shape();
  members.insert(members.end(), own.members().begin(), own.members().end());
  return {name, own.meaning(), std::move(members)};
}

std::string view_text(const ViewAnswer& answer) {
  return fmt::format("{} ({}), .NET {}, watched since {}\n\n{}", answer.source.process,
                     answer.source.pid, answer.source.runtime, iso8601(answer.source.since),
                     answer::page_text(answer.page));
}

const Shape& shape_of(const ExceptionActivity*) {
  using A = ExceptionActivity;
  static const auto shape = describe<A>(
      "ExceptionActivity", "The activity that threw",
      {member<&A::id>("id", "activity id"), member<&A::format>("idFormat", "always Unknown")});
  return shape;
}

const Shape& shape_of(const ExceptionFrame*) {
  using F = ExceptionFrame;
  static const auto shape =
      describe<F>("ExceptionFrame", "A frame of an exception's stack",
                  {member<&F::method>("methodName", "method without type and parameters"),
                   member<&F::parameters>("parameterTypes", "types of the parameters"),
                   member<&F::type>("typeName", "declaring type"),
                   member<&F::module>("moduleName", "file name of the module")});
  return shape;
}

const Shape& shape_of(const ExceptionStack*) {
  using S = ExceptionStack;
  static const auto shape =
      describe<S>("ExceptionStack", "Where an exception was thrown",
                  {member<&S::thread>("threadId", "operating system's thread id"),
                   member_or_null<&S::thread_name>("threadName", "always null"),
                   member<&S::frames>("frames", "frames from the throw outwards")});
  return shape;
}

const Shape& shape_of(const ExceptionAnswer*) {
  using E = ExceptionAnswer;
  static const auto shape = describe<E>(
      "ExceptionInstance", "An exception that was thrown",
      {member<&E::id>("id", "number of the exception since watching started"),
       member<&E::time>("timestamp", "time of the throw"),
       member<&E::type>("typeName", "type of the exception"),
       member_or_null<&E::module>("moduleName", "always null"),
       member<&E::message>("message", "message of the exception; needs the scope trace"),
       member_or_null<&E::activity>("activity", "activity that threw"),
       member<&E::inner>("innerExceptions", "always empty"),
       member<&E::stack>("stack", "where it was thrown"),
       member<&E::hresult>("hresult", "HRESULT, in hexadecimal")});
  return shape;
}

ExceptionAnswer answer_of(const NamedException& exception) {
  const auto& thrown = exception.thrown;
  ExceptionAnswer out{.id = thrown.id,
                      .time = thrown.wall,
                      .type = thrown.type,
                      .message = thrown.message,
                      .stack = {.thread = thrown.thread},
                      .hresult = fmt::format("0x{:08X}", thrown.hresult)};
  if (!thrown.activity.empty()) out.activity = ExceptionActivity{.id = thrown.activity};
  for (const auto& frame : exception.frames) {
    auto parts = parts_of(frame.method);
    out.stack.frames.push_back({.method = std::move(parts.method),
                                .parameters = std::move(parts.parameters),
                                .type = std::move(parts.type),
                                .module = frame.module.empty() ? "" : frame.module + ".dll"});
  }
  return out;
}

std::string exception_text(const NamedException& exception) {
  const auto& thrown = exception.thrown;
  auto out = fmt::format("First chance exception at {}\n{}: {}\n", iso8601(thrown.wall),
                         printable(thrown.type), printable_lines(thrown.message));
  for (const auto& frame : exception.frames)
    out += fmt::format("   at {}\n", printable(frame.method));
  return out;
}

const Shape& shape_of(const LiveFeedStatus*) {
  using F = LiveFeedStatus;
  static const auto shape =
      describe<F>("LiveFeedStatus", "One data stream of a watched process",
                  {member<&F::feed>("feed", "what is followed"),
                   member<&F::followers>("followers", "open streams"),
                   member<&F::told>("told", "events that arrived"),
                   member<&F::dropped>("dropped", "events that clrscope dropped"),
                   member<&F::left_out>("leftOut", "items left out of streams")});
  return shape;
}

const Shape& shape_of(const LiveProcessStatus*) {
  using P = LiveProcessStatus;
  static const auto shape = describe<P>(
      "LiveProcessStatus", "A process that is followed",
      {member<&P::pid>("pid", "process id"), member<&P::process>("process", "process name"),
       member<&P::live>("live", "whether it still sends data"),
       member_unless_empty<&P::ended>("ended", "why it no longer sends data"),
       member<&P::sessions>("sessions", "sessions open in its runtime"),
       member<&P::events>("events", "events that arrived"),
       member<&P::lost>("lost", "events that the runtime lost"),
       member<&P::feeds>("feeds", "what is followed")});
  return shape;
}

const Shape& shape_of(const LiveStatus*) {
  static const auto shape =
      describe<LiveStatus>("LiveStatus", "Processes that are followed",
                           {member<&LiveStatus::processes>("processes", "all of them")});
  return shape;
}

LiveStatus answer_of(const std::vector<Live::Status>& statuses) {
  LiveStatus out;
  for (const auto& one : statuses) {
    LiveProcessStatus process{.pid = one.source.pid,
                              .process = one.source.process,
                              .live = one.source.live,
                              .ended = one.source.ended,
                              .sessions = one.process.sessions,
                              .events = one.process.events,
                              .lost = one.process.lost};
    for (const auto& feed : one.process.feeds)
      process.feeds.push_back({.feed = feed.key,
                               .followers = feed.followers,
                               .told = feed.told,
                               .dropped = feed.dropped,
                               .left_out = feed.left_out});
    out.processes.push_back(std::move(process));
  }
  return out;
}

}  // namespace clrscope::live
