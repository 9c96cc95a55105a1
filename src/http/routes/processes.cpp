// Which processes are there.
#include "http/processes.h"

#include "base/json.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  JsonWriter json;
  json.begin_array();
  for (const auto& process : TRY(call.services().processes.list()))
    json.begin_object()
        .member("pid", process.pid)
        .member("uid", process.uid)
        .member("name", process.name)
        .member("commandLine", process.command_line)
        .member("reachable", process.reachable())
        .end_object();
  json.end_array();
  return json_answer(std::move(json).take());
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/processes",
     .scope = Scope::kRead,
     .summary = "The .NET processes that may be seen here",
     .types = kJson,
     .answer = list},
};

}  // namespace

extern constexpr Routes processes_routes{kRoutes};

}  // namespace clrscope::http
