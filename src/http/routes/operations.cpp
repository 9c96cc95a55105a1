// What is being done for clients, as dotnet-monitor tells it.
#include "http/operations.h"

#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  const auto selector = TRY(selector_of(call));
  JsonWriter json;
  json.begin_array();
  for (const auto& one : call.services().operations.list(selector, call.text("tags").value_or("")))
    write_operation(json, one, false);
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> show(Call& call) {
  const auto& id = call.path_value("id");
  const auto found = call.services().operations.find(id);
  if (!found)
    return fail(Errc::kUsage, "there is no operation {}", id).hint("GET /operations lists them");
  JsonWriter json;
  write_operation(json, *found, true);
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> end(Call& call) {
  auto& operations = call.services().operations;
  const auto& id = call.path_value("id");
  if (TRY(call.truth("stop", false))) {
    TRY(operations.stop(id));
    return HttpResponse{.status = 202, .type = ""};
  }
  TRY(operations.cancel(id));
  return HttpResponse{.status = 200, .type = ""};
}

constexpr Parameter kList[] = {
    {.name = "pid", .type = "integer", .help = "of this process"},
    {.name = "uid", .type = "string", .help = "or of the one with this GUID"},
    {.name = "name", .type = "string", .help = "or of this name"},
    {.name = "tags", .type = "string", .help = "only those that have all of these"},
};
constexpr Parameter kOne[] = {
    {.name = "id", .type = "string", .help = "of the operation", .in = Parameter::In::kPath},
};
constexpr Parameter kEnd[] = {
    {.name = "id", .type = "string", .help = "of the operation", .in = Parameter::In::kPath},
    {.name = "stop", .type = "boolean", .help = "true: in good order, its result is whole"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/operations",
     .scope = Scope::kTrace,
     .summary = "Traces, dumps and sessions under way, and the last that have ended",
     .types = kJson,
     .parameters = kList,
     .answer = list,
     .statuses = "400"},
    {.method = "GET",
     .path = "/operations/{id}",
     .scope = Scope::kTrace,
     .summary = "One operation",
     .types = kJson,
     .parameters = kOne,
     .answer = show,
     .statuses = "400"},
    {.method = "DELETE",
     .path = "/operations/{id}",
     .scope = Scope::kTrace,
     .summary = "Cancels an operation, or stops it in good order",
     .parameters = kEnd,
     .answer = end,
     .runs = Runs::kLong,
     .statuses = "202 400"},
};

}  // namespace

extern constexpr Routes operations_routes{kRoutes};

}  // namespace clrscope::http
