#include "ops/live/log_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::string_view kLogging = "Microsoft-Extensions-Logging";
constexpr std::uint64_t kJsonMessage = 0x8;
constexpr std::string_view kNames[] = {"Trace", "Debug",    "Information", "Warning",
                                       "Error", "Critical", "None"};
constexpr std::string_view kShort[] = {"trce", "dbug", "info", "warn", "fail", "crit", "none"};

// A value of the JSON that the program made, as text.
std::string text_of(const JsonValue& value) {
  if (const auto* text = value.text()) return *text;
  if (const auto whole = value.integer()) return fmt::format("{}", *whole);
  if (const auto number = value.number()) return fmt::format("{}", *number);
  if (const auto truth = value.boolean()) return *truth ? "true" : "false";
  return {};
}

LogValues values_of(const std::string& text) {
  LogValues values;
  const auto json = read_json(text);
  if (!json || json->object() == nullptr) return values;
  for (const auto& [name, value] : *json->object()) values.emplace_back(name, text_of(value));
  return values;
}

// {"TypeName":…,"Message":…,"HResult":…,"VerboseMessage":…}
std::string exception_of(const std::string& text) {
  const auto json = read_json(text);
  if (!json) return {};
  for (const std::string_view name : {"VerboseMessage", "Message", "TypeName"})
    if (const auto* value = json->find(name); value && value->text() && !value->text()->empty())
      return *value->text();
  return {};
}

// An activity's place among others: a digit for each step, 12 bytes of them; no step is 0, and no
// step's digits begin another's. What is inside of it begins with the same.
std::string path_of(const Guid* activity) {
  std::string path;
  if (activity == nullptr) return path;
  for (std::size_t i = 0; i < 12; ++i) path += fmt::format("{:02x}", activity->bytes[i]);
  path.erase(path.find_last_not_of('0') + 1);
  return path;
}

struct Fields {
  std::map<std::string, std::string, std::less<>> texts{};
  std::map<std::string, std::int64_t, std::less<>> numbers{};

  std::string text(std::string_view name) const {
    const auto at = texts.find(name);
    return at == texts.end() ? std::string{} : at->second;
  }
  std::int64_t number(std::string_view name) const {
    const auto at = numbers.find(name);
    return at == numbers.end() ? 0 : at->second;
  }
};

Fields fields_of(const nettrace::PayloadPlan& plan, Bytes payload) {
  using Kind = nettrace::Value::Kind;
  Fields fields;
  nettrace::for_each_field(plan, payload,
                           [&](const nettrace::PayloadField& field, const nettrace::Value& value) {
                             if (value.kind == Kind::kText16 || value.kind == Kind::kText8)
                               fields.texts[std::string{field.name}] = nettrace::text_of(value);
                             else if (value.kind == Kind::kInt || value.kind == Kind::kUInt)
                               fields.numbers[std::string{field.name}] = value.i;
                           });
  return fields;
}

void write_values(JsonWriter& json, const LogValues& values) {
  json.begin_object();
  for (const auto& [name, value] : values) json.member(name, value);
  json.end_object();
}

std::string indented(std::string_view text) {
  std::string out;
  for (const auto line : split(text, '\n')) out += fmt::format("      {}\n", line);
  return out;
}

}  // namespace

std::string_view name_of(LogSeverity level) { return kNames[static_cast<std::size_t>(level)]; }

std::optional<LogSeverity> parse_severity(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (equal_ignoring_case(kNames[i], text) || fmt::format("{}", i) == text)
      return static_cast<LogSeverity>(i);
  return std::nullopt;
}

std::string log_json(const LogEntry& entry) {
  JsonWriter json;
  json.begin_object()
      .member("Timestamp", iso8601(entry.time))
      .member("LogLevel", name_of(entry.level))
      .member("EventId", entry.event_id)
      .member("EventName", entry.event_name)
      .member("Category", entry.category)
      .member("Message", entry.message);
  json.key("Exception");
  if (entry.exception.empty())
    json.null();
  else
    json.value(entry.exception);
  write_values(json.key("State"), entry.state);
  json.key("Scopes").begin_array();
  for (const auto& scope : entry.scopes) write_values(json, scope);
  return json.end_array().end_object().text();
}

std::string log_text(const LogEntry& entry) {
  auto out =
      fmt::format("{} {}: {}[{}]\n", iso8601(entry.time),
                  kShort[static_cast<std::size_t>(entry.level)], entry.category, entry.event_id);
  for (const auto& scope : entry.scopes) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : scope) parts.push_back(fmt::format("{}:{}", name, value));
    out += fmt::format("      => {}\n", fmt::join(parts, ", "));
  }
  out += indented(entry.message);
  if (!entry.exception.empty()) out += indented(entry.exception);
  return out;
}

std::vector<hub::ProviderWish> log_providers(const LogWish& wish) {
  std::vector<std::string> specs;
  if (wish.app_filters || (!wish.level && wish.categories.empty()))
    specs.emplace_back("UseAppFilters");
  for (const auto& [category, level] : wish.categories) {
    std::string name;  // what would end the argument cannot be in a category's name
    for (const auto c : category)
      if (c != ';' && c != '"' && c != ':') name += c;
    specs.push_back(fmt::format(
        "{}:{}", name, name_of(level.value_or(wish.level.value_or(LogSeverity::kWarning)))));
  }
  if (wish.level) specs.push_back(fmt::format("*:{}", name_of(*wish.level)));
  return {{.name = std::string{kLogging},
           .keywords = kJsonMessage,
           .level = 5,
           .arguments = fmt::format("FilterSpecs=\"{}\"", fmt::join(specs, ";"))},
          // So that events carry the activity they belong to, and entries their scopes.
          {.name = "System.Threading.Tasks.TplEventSource", .keywords = 0x80, .level = 4}};
}

void LogDecoder::on_batch(const hub::Batch& batch, std::vector<LogEntry>& out) {
  const auto& block = *batch.block;
  if (!plans_ || reader_ != block.reader()) plans_.emplace(block.pointer_size());
  reader_ = block.reader();
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    if (event.type->provider != kLogging) continue;
    const auto& name = event.type->name;
    const auto activity = path_of(event.activity);
    if (name == "ActivityJsonStop") {
      if (scopes_.erase(activity) != 0) std::erase(order_, activity);
      continue;
    }
    if (name != "ActivityJsonStart" && name != "MessageJson") continue;
    const auto fields = fields_of(plans_->of(event), event.payload);
    if (name == "ActivityJsonStart") {
      if (activity.empty() || scopes_.contains(activity)) continue;
      scopes_.emplace(activity, values_of(fields.text("ArgumentsJson")));
      order_.push_back(activity);
      if (order_.size() > kMostScopes) {
        scopes_.erase(order_.front());
        order_.pop_front();
      }
      continue;
    }
    LogEntry entry{
        .time = block.wall_of(event),
        .level = static_cast<LogSeverity>(std::clamp<std::int64_t>(fields.number("Level"), 0, 6)),
        .category = fields.text("LoggerName"),
        .event_name = fields.text("EventName"),
        .message = fields.text("FormattedMessage"),
        .exception = exception_of(fields.text("ExceptionJson")),
        .state = values_of(fields.text("ArgumentsJson"))};
    const auto id = fields.texts.find("EventId");  // .NET 8 tells a text
    entry.event_id = id == fields.texts.end()
                         ? fields.number("EventId")
                         : static_cast<std::int64_t>(parse_number(id->second).value_or(0));
    for (std::size_t length = 1; length <= activity.size(); ++length)
      if (const auto at = scopes_.find(activity.substr(0, length)); at != scopes_.end())
        entry.scopes.push_back(at->second);
    out.push_back(std::move(entry));
  }
}

}  // namespace clrscope::ops
