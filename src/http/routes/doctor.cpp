// The doctor: examines a process, and keeps what it found.
#include <fmt/format.h>

#include <variant>

#include "archive/examinations.h"
#include "base/text.h"
#include "http/file_answer.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "http/single_file.h"
#include "ops/doctor_file.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kMostSeconds = 3600;

Result<ops::ExamineRequest> request_of(const Call& call, const Process& process) {
  // Whoever may read may read all reports, whoever asked for them: they quote no messages.
  ops::ExamineRequest request{.target = call.services().processes.target(process),
                              .messages = false};
  if (const auto seconds = TRY(call.number("durationSeconds", 1, kMostSeconds)))
    request.duration = std::chrono::seconds{*seconds};
  if (const auto only = call.text("only"))
    for (const auto id : split(*only, ',')) request.only.emplace_back(trim(id));
  if (const auto set = call.text("set"))
    for (const auto one : split(*set, ',')) request.settings.emplace_back(trim(one));
  (void)TRY(ops::select(request.only, request.settings));
  return request;
}

Result<std::variant<archive::Visit, HttpResponse>> begin(Call& call) {
  auto& services = call.services();
  const auto process = TRY(services.processes.chosen(call));
  auto request = TRY(request_of(call, process));
  const auto most = call.admitted().route->running.all;
  if (services.examinations.running() >= most)
    return std::variant<archive::Visit, HttpResponse>{
        problem(429, fmt::format("{} examinations run already", most))};
  return std::variant<archive::Visit, HttpResponse>{
      TRY(services.examinations.start(std::move(request), process, call.caller().name))};
}

// What is known of an examination, and its report when there is one.
struct ExaminationReport {
  archive::VisitAnswer visit{};
  std::optional<RawJsonOf<ops::ExaminationAnswer>> report{};
};
const Shape& shape_of(const ExaminationReport*) {
  using E = ExaminationReport;
  static const auto shape =
      describe<E>("ExaminationReport", "One run of the doctor, with its report",
                  {members_of<&E::visit>(),
                   member<&E::report>("report", "what was found, as GET /doctor answers it")});
  return shape;
}

Result<ExaminationReport> whole_answer(const archive::Examinations& examinations,
                                       const archive::Visit& visit) {
  ExaminationReport answer{.visit = archive::answer_of(visit)};
  if (visit.state == archive::VisitState::kFinished)
    answer.report =
        RawJsonOf<ops::ExaminationAnswer>{std::string{trim(TRY(examinations.report(visit.id)))}};
  return answer;
}

Result<HttpResponse> examine(Call& call) {
  auto begun = TRY(begin(call));
  if (auto* refusal = std::get_if<HttpResponse>(&begun)) return std::move(*refusal);
  auto& examinations = call.services().examinations;
  const auto visit =
      TRY(examinations.wait(std::get<archive::Visit>(begun).id, [&] { return call.gone(); }));
  if (visit.state != archive::VisitState::kFinished) return fail(Errc::kSystem, "{}", visit.error);
  auto answer = call.wants(kText) ? text_answer(TRY(examinations.text(visit.id)))
                                  : json_answer(TRY(examinations.report(visit.id)));
  answer.fields.push_back({"Location", call.link("/doctor/reports/" + visit.id)});
  return answer;
}

Result<HttpResponse> start(Call& call) {
  auto begun = TRY(begin(call));
  if (auto* refusal = std::get_if<HttpResponse>(&begun)) return std::move(*refusal);
  const auto& visit = std::get<archive::Visit>(begun);
  auto answer = answer_with(TRY(whole_answer(call.services().examinations, visit)), 202);
  answer.fields.push_back({"Location", call.link("/doctor/reports/" + visit.id)});
  return answer;
}

Result<HttpResponse> list(Call& call) {
  std::vector<archive::VisitAnswer> all;
  for (const auto& visit : call.services().examinations.list())
    all.push_back(archive::answer_of(visit));
  return answer_with(all);
}

Result<HttpResponse> show(Call& call) {
  auto& examinations = call.services().examinations;
  const auto visit = TRY(examinations.find(call.path_value("id")));
  if (call.wants(kText) && visit.state == archive::VisitState::kFinished)
    return text_answer(TRY(examinations.text(visit.id)));
  if (call.wants(kText))
    return text_answer(fmt::format("{} {}\n", clrscope::name_of(visit.state), visit.error));
  return answer_with(TRY(whole_answer(examinations, visit)));
}

// The finished reports of the same process before this one. One that was removed meanwhile is left
// out.
std::vector<ops::KeptReport> earlier_reports(const archive::Examinations& examinations,
                                             const archive::Visit& visit) {
  std::vector<ops::KeptReport> all;
  for (const auto& one : examinations.list()) {
    if (all.size() == ops::kMostKeptReports) break;
    if (one.state != archive::VisitState::kFinished || one.started >= visit.started ||
        one.process.pid != visit.process.pid || one.process.uid != visit.process.uid)
      continue;
    const auto json = examinations.report(one.id);
    if (!json) continue;
    if (auto report = ops::kept_report(*json)) all.push_back(*std::move(report));
  }
  return all;
}

Result<HttpResponse> file(Call& call) {
  auto& examinations = call.services().examinations;
  const auto visit = TRY(examinations.find(call.path_value("id")));
  if (visit.state != archive::VisitState::kFinished)
    return fail(Errc::kNotFound, "report {} is {}", visit.id, clrscope::name_of(visit.state))
        .hint("GET /doctor/reports/{} shows its progress", visit.id);
  const auto json = TRY(examinations.report(visit.id));
  const auto title = fmt::format("{} ({}) · doctor", visit.process.name, visit.process.pid);
  auto response =
      file_head("text/html; charset=utf-8", fmt::format("{}_doctor.html", visit.process.name));
  response.body =
      single_file({.kind = "doctor",
                   .title = title,
                   .text = TRY(examinations.text(visit.id)),
                   .json = ops::kept_reports_json(TRY(ops::kept_report(json)),
                                                  earlier_reports(examinations, visit))});
  return response;
}

Result<HttpResponse> remove(Call& call) {
  TRY(call.services().examinations.remove(call.path_value("id")));
  return HttpResponse{.status = 204, .type = ""};
}

Result<HttpResponse> findings(Call&) { return json_answer(ops::registry_json()); }

constexpr Parameter kExamine[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
    {.name = "durationSeconds",
     .type = "integer",
     .help = "how long to watch the process (default: 10)"},
    {.name = "only", .type = "string", .help = "only these examinations: CS1001,CS1204"},
    {.name = "set", .type = "string", .help = "parameters: CS1501.perSecond=10"},
};
constexpr Parameter kId[] = {
    {.name = "id", .type = "string", .help = "of the report", .in = Parameter::In::kPath}};

constexpr Limit kRunning{.name = "examinations", .all = 8};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/doctor",
     .scope = Scope::kRead,
     .summary = "Examines a process and answers with what was found",
     .types = "application/json text/plain",
     .parameters = kExamine,
     .answer = examine,
     .json = value_shape<ops::ExaminationAnswer>,
     .runs = Runs::kLong,
     .running = kRunning,
     .statuses = "400 429"},
    {.method = "POST",
     .path = "/doctor",
     .scope = Scope::kRead,
     .summary = "Begins to examine a process",
     .types = kJson,
     .parameters = kExamine,
     .answer = start,
     .json = value_shape<ExaminationReport>,
     .running = kRunning,
     .statuses = "202 400 429"},
    {.method = "GET",
     .path = "/doctor/findings",
     .scope = Scope::kRead,
     .summary = "What can be found: ids, prices, rights, parameters",
     .types = kJson,
     .answer = findings,
     .json = value_shape<std::vector<ops::FindingAnswer>>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
    {.method = "GET",
     .path = "/doctor/reports",
     .scope = Scope::kRead,
     .summary = "The reports that are kept, the newest first",
     .types = kJson,
     .answer = list,
     .json = value_shape<std::vector<archive::VisitAnswer>>},
    {.method = "GET",
     .path = "/doctor/reports/{id}",
     .scope = Scope::kRead,
     .summary = "One report, or how far it is",
     .types = "application/json text/plain",
     .parameters = kId,
     .answer = show,
     .json = value_shape<ExaminationReport>,
     .statuses = "404"},
    {.method = "GET",
     .path = "/doctor/reports/{id}/report.html",
     .scope = Scope::kRead,
     .summary = "A finished report as one HTML file that works offline, with the earlier ones of "
                "the process",
     .types = kHtml,
     .parameters = kId,
     .answer = file,
     .statuses = "404"},
    {.method = "DELETE",
     .path = "/doctor/reports/{id}",
     .scope = Scope::kTrace,
     .summary = "Removes a report",
     .parameters = kId,
     .answer = remove,
     .statuses = "204 404"},
};

}  // namespace

extern constexpr Routes doctor_routes{kRoutes};

}  // namespace clrscope::http
