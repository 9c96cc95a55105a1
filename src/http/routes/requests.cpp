// HTTP requests that a process is serving now.
#include "ops/requests.h"

#include "http/answer.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> requests(Call& call) {
  auto& processes = call.services().processes;
  const auto process = TRY(processes.chosen(call));
  const auto seen = TRY(ops::take_requests({.target = processes.target(process)}));
  return call.wants(kText) ? text_answer(ops::requests_text(seen))
                           : json_answer(ops::requests_json(seen));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/views/requests",
     .scope = Scope::kTrace,
     .summary = "HTTP requests in flight: age, path, route, trace id and async stack; pauses the "
                "process briefly",
     .types = "application/json text/plain",
     .parameters = kParameters,
     .answer = requests,
     .json = value_shape<ops::RequestsAnswer>,
     .statuses = "400"},
};

}  // namespace

extern constexpr Routes requests_routes{kRoutes};

}  // namespace clrscope::http
