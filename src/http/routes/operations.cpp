// What is being done for clients, as dotnet-monitor tells it.
#include "archive/operations.h"

#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  const auto selector = TRY(selector_of(call));
  std::vector<archive::OperationSummary> all;
  for (const auto& one : call.services().operations.list(selector, call.text("tags").value_or("")))
    all.push_back(archive::summary_of(one));
  return answer_with(all);
}

Result<HttpResponse> show(Call& call) {
  const auto& id = call.path_value("id");
  const auto found = call.services().operations.find(id);
  if (!found)
    return fail(Errc::kUsage, "operation {} does not exist", id).hint("GET /operations lists them");
  return answer_with(archive::answer_of(*found));
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
    {.name = "tags", .type = "string", .help = "only operations with all of these tags"},
};
constexpr Parameter kOne[] = {
    {.name = "id", .type = "string", .help = "id of the operation", .in = Parameter::In::kPath},
};
constexpr Parameter kEnd[] = {
    {.name = "id", .type = "string", .help = "id of the operation", .in = Parameter::In::kPath},
    {.name = "stop", .type = "boolean", .help = "true: stop early and keep the result"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/operations",
     .scope = Scope::kTrace,
     .summary = "Traces, dumps and sessions under way, and the last that have ended",
     .types = kJson,
     .parameters = kList,
     .answer = list,
     .json = value_shape<std::vector<archive::OperationSummary>>,
     .statuses = "400"},
    {.method = "GET",
     .path = "/operations/{id}",
     .scope = Scope::kTrace,
     .summary = "One operation",
     .types = kJson,
     .parameters = kOne,
     .answer = show,
     .json = value_shape<archive::OperationAnswer>,
     .statuses = "400"},
    {.method = "DELETE",
     .path = "/operations/{id}",
     .scope = Scope::kTrace,
     .summary = "Cancels an operation, or stops it early and keeps the result",
     .parameters = kEnd,
     .answer = end,
     .runs = Runs::kLong,
     .statuses = "200 202 400"},
};

}  // namespace

extern constexpr Routes operations_routes{kRoutes};

}  // namespace clrscope::http
