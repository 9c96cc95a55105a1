// What works here, why not, and the remedy: of this machine, or for one process.
#include "ops/check.h"

#include "base/json.h"
#include "http/answer.h"
#include "http/check.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {

Result<ops::CheckReport> check_for(const Call& call) {
  const auto& processes = call.services().processes;
  if (!call.text("pid") && !call.text("uid") && !call.text("name")) return ops::check(std::nullopt);
  return ops::check(processes.target(TRY(processes.chosen(call))));
}

std::string_view word_for(ops::Works works) {
  return works == ops::Works::kYes ? "yes" : works == ops::Works::kPartly ? "partly" : "no";
}

namespace {

std::string text_of(const ops::CheckReport& report) {
  std::string out;
  if (report.process)
    out += fmt::format("{} ({}), .NET {}\n", report.process->name, report.process->pid,
                       report.process->runtime);
  for (const auto& row : report.rows) {
    out += fmt::format("  {:22}{:8}{}\n", row.source, word_for(row.works), row.detail);
    if (!row.hint.empty()) out += fmt::format("  {:30}hint: {}\n", "", row.hint);
  }
  if (report.rung) out += fmt::format("Rung: {}\n", ops::words_for(*report.rung));
  return out;
}

Result<HttpResponse> check(Call& call) {
  const auto report = TRY(check_for(call));
  if (call.wants(kText)) return text_answer(text_of(report));
  JsonWriter json;
  json.begin_object();
  if (report.process)
    json.member("pid", report.process->pid)
        .member("name", report.process->name)
        .member("runtime", report.process->runtime);
  json.key("sources").begin_array();
  for (const auto& row : report.rows) {
    json.begin_object()
        .member("id", row.id)
        .member("source", row.source)
        .member("works", word_for(row.works))
        .member("detail", row.detail);
    if (!row.hint.empty()) json.member("hint", row.hint);
    json.end_object();
  }
  json.end_array();
  if (report.rung)
    json.key("rung")
        .begin_object()
        .member("cpu", ops::to_string(report.rung->cpu))
        .member("kernelFrames", report.rung->kernel_frames)
        .member("waits", ops::to_string(report.rung->waits))
        .end_object();
  json.end_object();
  return json_answer(std::move(json).take() + "\n");
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process; without any: what holds for all"},
    {.name = "uid", .type = "string", .help = "or its runtime's own id"},
    {.name = "name", .type = "string", .help = "or its name"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/check",
     .scope = Scope::kRead,
     .summary = "Which sources work here, why not, and the remedy",
     .types = "application/json text/plain",
     .parameters = kParameters,
     .answer = check,
     .statuses = "400 404"},
};

}  // namespace

extern constexpr Routes check_routes{kRoutes};

}  // namespace clrscope::http
