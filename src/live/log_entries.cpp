#include "live/log_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_reader.h"
#include "base/text.h"
#include "model/provider_names.h"

namespace clrscope::live {
namespace {

constexpr std::uint64_t kJsonMessage = 0x8;
constexpr std::string_view kNames[] = {"Trace", "Debug",    "Information", "Warning",
                                       "Error", "Critical", "None"};
constexpr std::string_view kShort[] = {"trce", "dbug", "info", "warn", "fail", "crit", "none"};

LogValues values_of(const std::string& text) {
  LogValues values;
  const auto json = read_json(text);
  if (!json || json->object() == nullptr) return values;
  for (const auto& [name, value] : *json->object()) values.emplace_back(name, scalar_text(value));
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

std::string indented(std::string_view text) {
  std::string out;
  for (const auto line : split(text, '\n')) out += fmt::format("      {}\n", line);
  return out;
}

}  // namespace

std::span<const std::string_view> names_of(LogSeverity) { return kNames; }
std::string_view name_of(LogSeverity level) { return kNames[static_cast<std::size_t>(level)]; }

std::optional<LogSeverity> parse_severity(std::string_view text) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (equal_ignoring_case(kNames[i], text) || fmt::format("{}", i) == text)
      return static_cast<LogSeverity>(i);
  return std::nullopt;
}

const Shape& shape_of(const LogEntry*) {
  using L = LogEntry;
  static const auto shape = describe<L>(
      "LogEntry", "An entry that the process logged through ILogger",
      {member<&L::time>("Timestamp", "time of the entry"),
       member<&L::level>("LogLevel", "log level"), member<&L::event_id>("EventId", "event id"),
       member<&L::event_name>("EventName", "event name"),
       member<&L::category>("Category", "logger category"),
       member<&L::message>("Message", "formatted message"),
       member_or_null<&L::exception>("Exception", "exception text; null: none"),
       member<&L::state>("State", "message arguments by name"),
       member<&L::scopes>("Scopes", "open scopes, the outermost first")});
  return shape;
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

std::vector<hub::ProviderRequest> log_providers(const LogRequest& request) {
  std::vector<std::string> specs;
  if (request.app_filters || (!request.level && request.categories.empty()))
    specs.emplace_back("UseAppFilters");
  for (const auto& [category, level] : request.categories) {
    std::string name;  // what would end the argument cannot be in a category's name
    for (const auto c : category)
      if (c != ';' && c != '"' && c != ':') name += c;
    specs.push_back(fmt::format(
        "{}:{}", name, name_of(level.value_or(request.level.value_or(LogSeverity::kWarning)))));
  }
  if (request.level) specs.push_back(fmt::format("*:{}", name_of(*request.level)));
  return {{.name = std::string{kLoggingProvider},
           .keywords = kJsonMessage,
           .level = 5,
           .arguments = fmt::format("FilterSpecs=\"{}\"", fmt::join(specs, ";"))},
          // So that events carry the activity they belong to, and entries their scopes.
          {.name = std::string{kTasksProvider}, .keywords = 0x80, .level = 4}};
}

void LogDecoder::on_batch(const hub::Batch& batch, std::vector<LogEntry>& out) {
  const auto& block = *batch.block;
  if (!plans_ || reader_ != block.reader()) plans_.emplace(block.pointer_size());
  reader_ = block.reader();
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    if (event.type->provider != kLoggingProvider) continue;
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

}  // namespace clrscope::live
