// What a process logs through ILogger, as it comes.
#include <fmt/format.h>

#include "http/answer.h"
#include "http/json_body.h"
#include "http/live_stream.h"
#include "http/services.h"
#include "ops/live/answers.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kDefaultSeconds = 30;

Result<ops::LogSeverity> severity_of(std::string_view name, std::string_view text) {
  if (const auto level = ops::parse_severity(text)) return *level;
  return fail(Errc::kUsage, "{}: {} is no log level", name, text)
      .hint("Trace, Debug, Information, Warning, Error, Critical, None");
}

Result<std::optional<ops::LogSeverity>> severity_of(std::string_view name, const JsonValue* value) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (value->text() == nullptr) return fail(Errc::kUsage, "{} is no text", name);
  return TRY(severity_of(name, *value->text()));
}

Result<ops::LogWish> wish_of(const Call& call) {
  ops::LogWish wish;
  if (const auto level = call.text("level")) wish.level = TRY(severity_of("level", *level));
  if (call.request().method != "POST") return wish;
  const auto body = TRY(read_body(call));
  wish.level = TRY(severity_of("logLevel", find_member(body, "logLevel")));
  wish.app_filters = TRY(truth_of(body, "useAppFilters")).value_or(true);
  const auto* specs = find_member(body, "filterSpecs");
  if (specs == nullptr || specs->is_null()) return wish;
  if (specs->object() == nullptr) return fail(Errc::kUsage, "filterSpecs is no object");
  for (const auto& [category, level] : *specs->object()) {
    const auto named = TRY(severity_of(category, &level));
    if (!named && !wish.level)
      return fail(Errc::kUsage, "filterSpecs.{} has no level, and there is no logLevel", category);
    wish.categories.emplace_back(category, named);
  }
  return wish;
}

Result<> serve(Call& call) {
  StreamWish wish{.duration = TRY(stream_duration(call, kDefaultSeconds))};
  wish.feeds.push_back(ops::logs_feed(TRY(wish_of(call))));
  const auto who = TRY(chosen_live(call));
  wish.render = [text = call.wants(kText) || call.wants(kEventStream),
                 sequence = call.wants(kJsonSequence),
                 events = call.wants(kEventStream)](const ops::LiveItem& item) -> std::string {
    if (!item.log) return {};  // something was dropped; log streams have no words for it
    if (sequence) return json_sequence(item.json);
    if (!text) return item.json + "\n";
    auto lines = ops::log_text(*item.log);
    while (events && lines.ends_with('\n')) lines.pop_back();
    return lines;
  };
  serve_stream(std::move(call), who, std::move(wish));
  return {};
}

void logs(Call call) {
  if (const auto done = serve(call); !done) call.send(done.error());
}

constexpr std::string_view kTypes =
    "application/x-ndjson application/json-seq text/plain text/event-stream";
constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "the process, by its runtime's id"},
    {.name = "name", .type = "string", .help = "the process, by its name"},
    {.name = "level", .type = "string", .help = "of all categories; unless told as the app has it"},
    {.name = "durationSeconds", .type = "integer", .help = "30 unless told; -1: no end"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/logs",
     .scope = Scope::kTrace,
     .summary = "What the process logs, while it does",
     .types = kTypes,
     .parameters = kParameters,
     .serve = logs,
     .live_types = kTypes,
     .statuses = "400 404 410 429"},
    {.method = "POST",
     .path = "/logs",
     .scope = Scope::kTrace,
     .summary = "The same, with levels by category",
     .types = kTypes,
     .parameters = kParameters,
     .serve = logs,
     .live_types = kTypes,
     .body =
         R"({"type":"object","properties":{"logLevel":{"type":"string"},"filterSpecs":{"type":"object"},"useAppFilters":{"type":"boolean"}}})",
     .statuses = "400 404 410 429"},
};

}  // namespace

extern constexpr Routes logs_routes{kRoutes};

}  // namespace clrscope::http
