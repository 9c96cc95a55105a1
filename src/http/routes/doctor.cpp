// The doctor: examines a process, and keeps what it found.
#include <fmt/format.h>

#include <variant>

#include "base/text.h"
#include "http/answer.h"
#include "http/examinations.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kMostSeconds = 3600;

Result<ops::ExamineWish> wish_of(const Call& call, const Process& process) {
  // Whoever may read may read all reports, whoever asked for them: they quote no messages.
  ops::ExamineWish wish{.target = call.services().processes.target(process), .messages = false};
  if (const auto seconds = TRY(call.number("durationSeconds", 1, kMostSeconds)))
    wish.duration = std::chrono::seconds{*seconds};
  if (const auto only = call.text("only"))
    for (const auto id : split(*only, ',')) wish.only.emplace_back(trim(id));
  if (const auto set = call.text("set"))
    for (const auto one : split(*set, ',')) wish.settings.emplace_back(trim(one));
  (void)TRY(doctor::select(wish.only, wish.settings));
  return wish;
}

Result<std::variant<Visit, HttpResponse>> begin(Call& call) {
  auto& services = call.services();
  const auto process = TRY(services.processes.chosen(call));
  auto wish = TRY(wish_of(call, process));
  if (services.examinations.running() >= Examinations::kMostAtOnce)
    return std::variant<Visit, HttpResponse>{
        problem(429, fmt::format("{} examinations run already", Examinations::kMostAtOnce))};
  return std::variant<Visit, HttpResponse>{
      TRY(services.examinations.start(std::move(wish), process, call.caller().name))};
}

// What is known of a visit, and its report when there is one.
Result<std::string> whole_json(const Examinations& examinations, const Visit& visit) {
  JsonWriter json;
  json.begin_object();
  write_visit(json, visit);
  json.end_object();
  auto text = std::move(json).take();
  if (visit.state != "finished") return text + "\n";
  text.pop_back();
  return text + ",\"report\":" + std::string{trim(TRY(examinations.report(visit.id)))} + "}\n";
}

Result<HttpResponse> examine(Call& call) {
  auto begun = TRY(begin(call));
  if (auto* refusal = std::get_if<HttpResponse>(&begun)) return std::move(*refusal);
  auto& examinations = call.services().examinations;
  const auto visit = TRY(examinations.wait(std::get<Visit>(begun).id, [&] { return call.gone(); }));
  if (visit.state != "finished") return fail(Errc::kSystem, "{}", visit.error);
  auto answer = call.wants(kText) ? text_answer(TRY(examinations.text(visit.id)))
                                  : json_answer(TRY(examinations.report(visit.id)));
  answer.fields.push_back({"Location", call.link("/doctor/reports/" + visit.id)});
  return answer;
}

Result<HttpResponse> start(Call& call) {
  auto begun = TRY(begin(call));
  if (auto* refusal = std::get_if<HttpResponse>(&begun)) return std::move(*refusal);
  const auto& visit = std::get<Visit>(begun);
  auto answer = json_answer(TRY(whole_json(call.services().examinations, visit)), 202);
  answer.fields.push_back({"Location", call.link("/doctor/reports/" + visit.id)});
  return answer;
}

Result<HttpResponse> list(Call& call) {
  JsonWriter json;
  json.begin_array();
  for (const auto& visit : call.services().examinations.list()) {
    json.begin_object();
    write_visit(json, visit);
    json.end_object();
  }
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> show(Call& call) {
  auto& examinations = call.services().examinations;
  const auto visit = TRY(examinations.find(call.path_value("id")));
  if (call.wants(kText) && visit.state == "finished")
    return text_answer(TRY(examinations.text(visit.id)));
  if (call.wants(kText)) return text_answer(visit.state + " " + visit.error + "\n");
  return json_answer(TRY(whole_json(examinations, visit)));
}

Result<HttpResponse> remove(Call& call) {
  TRY(call.services().examinations.remove(call.path_value("id")));
  return HttpResponse{.status = 204, .type = ""};
}

Result<HttpResponse> findings(Call&) { return json_answer(doctor::registry_json()); }

constexpr Parameter kExamine[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
    {.name = "durationSeconds", .type = "integer", .help = "how long to watch it: 10 unless told"},
    {.name = "only", .type = "string", .help = "only these examinations: CS1001,CS1204"},
    {.name = "set", .type = "string", .help = "parameters: CS1501.perSecond=10"},
};
constexpr Parameter kId[] = {
    {.name = "id", .type = "string", .help = "of the report", .in = Parameter::In::kPath}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/doctor",
     .scope = Scope::kRead,
     .summary = "Examines a process and answers with what was found",
     .types = "application/json text/plain",
     .parameters = kExamine,
     .answer = examine,
     .runs = Runs::kLong,
     .statuses = "400 429"},
    {.method = "POST",
     .path = "/doctor",
     .scope = Scope::kRead,
     .summary = "Begins to examine a process",
     .types = kJson,
     .parameters = kExamine,
     .answer = start,
     .statuses = "202 400 429"},
    {.method = "GET",
     .path = "/doctor/findings",
     .scope = Scope::kRead,
     .summary = "What can be found: ids, prices, rights, parameters",
     .types = kJson,
     .answer = findings,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
    {.method = "GET",
     .path = "/doctor/reports",
     .scope = Scope::kRead,
     .summary = "The reports that are kept, the newest first",
     .types = kJson,
     .answer = list},
    {.method = "GET",
     .path = "/doctor/reports/{id}",
     .scope = Scope::kRead,
     .summary = "One report, or how far it is",
     .types = "application/json text/plain",
     .parameters = kId,
     .answer = show,
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
