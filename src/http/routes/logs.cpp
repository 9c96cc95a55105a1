// What a process logs through ILogger, as it comes.
#include <fmt/format.h>

#include "http/json_body.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "live/answers.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kDefaultSeconds = 30;

Result<live::LogSeverity> severity_of(std::string_view name, std::string_view text) {
  if (const auto level = live::parse_severity(text)) return *level;
  return fail(Errc::kUsage, "{}: {} is not a log level", name, text)
      .hint("Trace, Debug, Information, Warning, Error, Critical, None");
}

Result<std::optional<live::LogSeverity>> severity_of(std::string_view name,
                                                     const JsonValue* value) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->text() == nullptr) return fail(Errc::kUsage, "{} must be a string", name);
  return TRY(severity_of(name, *value->text()));
}

Result<live::LogRequest> request_of(const Call& call) {
  live::LogRequest options;
  if (const auto level = call.text("level")) options.level = TRY(severity_of("level", *level));
  if (call.request().method != "POST") return options;
  const auto body = TRY(read_body(call));
  options.level = TRY(severity_of("logLevel", find_member(body, "logLevel")));
  options.app_filters = TRY(truth_of(body, "useAppFilters")).value_or(true);
  const auto* specs = find_member(body, "filterSpecs");
  if (specs == nullptr || specs->is_null()) return options;
  if (specs->object() == nullptr) return fail(Errc::kUsage, "filterSpecs must be an object");
  for (const auto& [category, level] : *specs->object()) {
    const auto named = TRY(severity_of(category, &level));
    if (!named && !options.level)
      return fail(Errc::kUsage, "filterSpecs.{} has no level, and there is no logLevel", category);
    options.categories.emplace_back(category, named);
  }
  return options;
}

Result<> serve(Call& call) {
  StreamOptions options{.duration = TRY(stream_duration(call, kDefaultSeconds))};
  options.feeds.push_back(live::logs_feed(TRY(request_of(call))));
  const auto who = TRY(chosen_live(call));
  options.render = [text = call.wants(kText) || call.wants(kEventStream),
                    sequence = call.wants(kJsonSequence),
                    events = call.wants(kEventStream)](const live::LiveItem& item) -> std::string {
    if (!item.log) return {};  // something was dropped; log streams have no words for it
    if (sequence) return json_sequence(item.json);
    if (!text) return item.json + "\n";
    auto lines = live::log_text(*item.log);
    while (events && lines.ends_with('\n')) lines.pop_back();
    return lines;
  };
  serve_stream(std::move(call), who, std::move(options));
  return {};
}

void logs(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

// The JSON body as it is published. Read field by field: names are case-insensitive.
struct LogsBody {
  std::optional<std::string> level{};
  std::optional<std::map<std::string, std::optional<std::string>>> filters{};
  std::optional<bool> app_filters{};
};
const Shape& shape_of(const LogsBody*) {
  using L = LogsBody;
  static const auto shape = describe<L>(
      "LogsRequest", "Which log entries to send",
      {member<&L::level>("logLevel", "lowest log level of all categories"),
       member<&L::filters>("filterSpecs", "lowest log level by category; null: logLevel"),
       member<&L::app_filters>("useAppFilters", "the application's own filters (default: true)")});
  return shape;
}

constexpr std::string_view kTypes =
    "application/x-ndjson application/json-seq text/plain text/event-stream";
constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "level",
     .type = "string",
     .help = "lowest log level of all categories (default: the application's own filters)"},
    {.name = "durationSeconds",
     .type = "integer",
     .help = "length of the stream; -1: no end (default: 30)"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/logs",
     .scope = Scope::kTrace,
     .summary = "Log entries of a process as they are written",
     .types = kTypes,
     .parameters = kParameters,
     .serve = logs,
     .line = value_shape<live::LogEntry>,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
    {.method = "POST",
     .path = "/logs",
     .scope = Scope::kTrace,
     .summary = "The same, with levels by category",
     .types = kTypes,
     .parameters = kParameters,
     .serve = logs,
     .line = value_shape<live::LogEntry>,
     .body = value_shape<LogsBody>,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes logs_routes{kRoutes};

}  // namespace clrscope::http
