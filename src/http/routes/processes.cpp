// Which processes are there, and what is known of one.
#include "http/processes.h"

#include "base/json.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/environment.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  const auto found = TRY(call.services().processes.list());
  JsonWriter json;
  json.begin_array();
  for (const auto& process : found) {
    json.begin_object();
    write_process(json, process);
    json.member("isDefault", found.size() == 1).end_object();
  }
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> show(Call& call) {
  const auto process = TRY(call.services().processes.chosen(call));
  JsonWriter json;
  json.begin_object();
  write_process(json, process);
  json.end_object();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> environment(Call& call) {
  auto& processes = call.services().processes;
  const auto process = TRY(processes.chosen(call));
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : TRY(ops::environment(processes.target(process))))
    json.member(name, value);
  json.end_object();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> info(Call& call) {
  const auto& port = call.services().setting.diagnostic_port;
  JsonWriter json;
  json.begin_object()
      .member("version", CLRSCOPE_VERSION)
      .member("runtimeVersion", "native")
      .member("diagnosticPortMode", port.empty() ? "Connect" : "Listen")
      .key("diagnosticPortName");
  if (port.empty())
    json.null();
  else
    json.value(port);
  json.key("capabilities").begin_array().end_array().member("product", "clrscope").end_object();
  return json_answer(std::move(json).take() + "\n");
}

constexpr Parameter kSelector[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/processes",
     .scope = Scope::kRead,
     .summary = "The .NET processes that may be seen here",
     .types = kJson,
     .answer = list},
    {.method = "GET",
     .path = "/process",
     .scope = Scope::kRead,
     .summary = "One process",
     .types = kJson,
     .parameters = kSelector,
     .answer = show,
     .statuses = "400"},
    {.method = "GET",
     .path = "/env",
     .scope = Scope::kMemory,
     .summary = "The environment variables of a process",
     .types = kJson,
     .parameters = kSelector,
     .answer = environment,
     .statuses = "400"},
    {.method = "GET",
     .path = "/info",
     .scope = Scope::kRead,
     .summary = "This controller: its version, how it reaches processes",
     .types = kJson,
     .answer = info,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes processes_routes{kRoutes};

}  // namespace clrscope::http
