// What works here, why not, and the remedy: of this machine, or for one process.
#include "ops/check.h"

#include "http/answer.h"
#include "http/check.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {

Result<ops::CheckReport> check_for(const Call& call) {
  const auto& processes = call.services().processes;
  if (!call.text("pid") && !call.text("uid") && !call.text("name")) {
    auto report = ops::check_machine(TRY(processes.list()));
    if (auto row = processes.port_row()) report.rows.push_back(*std::move(row));
    return report;
  }
  return ops::check(processes.target(TRY(processes.chosen(call))));
}

namespace {

std::string text_of(const ops::CheckReport& report) {
  std::string out;
  if (report.process)
    out += fmt::format("{} ({}), .NET {}\n", report.process->name, report.process->pid,
                       report.process->runtime);
  for (const auto& row : report.rows) {
    out += fmt::format("  {:22}{:8}{}\n", row.source, ops::to_string(row.works), row.detail);
    if (!row.hint.empty()) out += fmt::format("  {:30}hint: {}\n", "", row.hint);
  }
  if (report.rung) out += fmt::format("Rung: {}\n", ops::words_for(*report.rung));
  return out;
}

Result<HttpResponse> check(Call& call) {
  const auto report = TRY(check_for(call));
  if (call.wants(kText)) return text_answer(text_of(report));
  return json_answer(ops::to_json(report));
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
