// What works here, why not, and the remedy: of this machine, or for one process.
#include "ops/check.h"

#include "answer/text.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

// Of the process that the request names, or of none.
Result<ops::CheckReport> check_for(const Call& call) {
  const auto& processes = call.services().processes;
  if (!call.text("pid") && !call.text("uid") && !call.text("name")) {
    auto report = ops::check_machine(TRY(processes.list()));
    if (auto row = processes.port_row()) report.rows.push_back(*std::move(row));
    return report;
  }
  return ops::check(processes.target(TRY(processes.chosen(call))));
}

Result<HttpResponse> check(Call& call) {
  const auto report = TRY(check_for(call));
  if (call.wants(kText)) return text_answer(answer::page_text(check_document(report)));
  return json_answer(json_line(answer_of(report)));
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
     .summary = "Which sources work here, what each verb uses, why not, and the remedy",
     .types = "application/json text/plain",
     .parameters = kParameters,
     .answer = check,
     .json = value_shape<ops::CheckAnswer>,
     .statuses = "400 404"},
};

}  // namespace

extern constexpr Routes check_routes{kRoutes};

}  // namespace clrscope::http
