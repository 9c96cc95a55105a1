#include "nettrace/event_json.h"

#include <fmt/format.h>

#include "base/json.h"
#include "nettrace/payload_print.h"
#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

using std::chrono::nanoseconds;

void append_padded(std::string& out, std::uint64_t number, int digits) {
  char text[20];
  for (int i = digits - 1; i >= 0; --i, number /= 10)
    text[i] = static_cast<char>('0' + number % 10);
  out.append(text, static_cast<std::size_t>(digits));
}

void append_ms(std::string& out, nanoseconds time) {
  auto count = static_cast<std::uint64_t>(time.count());
  if (time.count() < 0) out += '-', count = 0 - count;  // the smallest number too
  fmt::format_int whole{count / 1'000'000};
  out.append(whole.data(), whole.size());
  out += '.';
  append_padded(out, count % 1'000'000, 6);
}

void append_int(std::string& out, std::string_view key, auto number) {
  const fmt::format_int text{number};
  out.append(key).append(text.data(), text.size());
}

}  // namespace

const Shape& shape_of(const EventLine*) {
  using A = EventLine;
  static const auto shape =
      describe<A>("Event", "an event of a process",
                  {member<&A::time>("time", "when it happened"),
                   member<&A::at_ms>("atMs", Unit::kMs, "time since the start of the trace"),
                   member<&A::provider>("provider", "name of its provider"),
                   member<&A::name>("name", "name of the event"),
                   member<&A::id>("id", "id of the event"), member<&A::pid>("pid", "process id"),
                   member<&A::os_id>("osId", "operating system's thread id"),
                   member<&A::activity>("activityId", "activity it belongs to"),
                   member<&A::related>("relatedActivityId", "activity that started this one"),
                   member<&A::payload>("payload", "its fields by name"),
                   member<&A::payload_hex>("payloadHex", "its bytes, if its fields are unknown"),
                   member<&A::stack>("stack", "methods on the stack, leaf first")});
  return shape;
}

std::string event_name(const EventType& type, const PayloadPlan& plan) {
  if (!plan.event_name().empty()) return plan.event_name();
  return type.name.empty() ? fmt::format("Event({})", type.id) : type.name;
}

void EventJson::TimeText::append(std::string& out, WallTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  if (!second_ || *second_ != second) {
    second_ = second;
    prefix_ = iso8601(second);
    prefix_.resize(prefix_.find('.') + 1);
  }
  out += prefix_;
  append_padded(out, static_cast<std::uint64_t>((time - second).count()) / 1000, 6);
  out += 'Z';
}

void EventJson::append(std::string& out, const Event& event, const PayloadPlan& plan, WallTime wall,
                       std::optional<nanoseconds> since_start, std::string_view stack) {
  out += "{\"time\":\"";
  times_.append(out, wall);
  out += '"';
  if (since_start) append_ms(out += ",\"atMs\":", *since_start);
  out += middle(*event.type, plan);
  append_int(out, ",\"pid\":", static_cast<std::int32_t>(event.process));
  append_int(out, ",\"osId\":", static_cast<std::uint64_t>(event.thread));
  if (event.activity)
    out.append(",\"activityId\":\"").append(to_string(*event.activity)).append("\"");
  if (event.related)
    out.append(",\"relatedActivityId\":\"").append(to_string(*event.related)).append("\"");
  if (plan.schema() != Schema::kUnknown) {
    out += ",\"payload\":";
    append_json(out, plan, event.payload);
  } else if (!event.payload.empty()) {
    out += ",\"payloadHex\":\"";
    append_hex(out, event.payload);
    out += '"';
  }
  if (!stack.empty()) out.append(",\"stack\":").append(stack);
  out += "}\n";
}

// What is the same in all events of a type. A type that nobody describes may be described later.
const std::string& EventJson::middle(const EventType& type, const PayloadPlan& plan) {
  if (type.index >= middles_.size()) middles_.resize(type.index + 1);
  Middle& middle = middles_[type.index];
  if (!middle.text.empty() && middle.schema == plan.schema()) return middle.text;
  middle = {.text = ",\"provider\":", .schema = plan.schema()};
  append_json_string(middle.text, type.provider);
  middle.text += ",\"name\":";
  append_json_string(middle.text, event_name(type, plan));
  append_int(middle.text, ",\"id\":", type.id);
  return middle.text;
}

}  // namespace clrscope::nettrace
