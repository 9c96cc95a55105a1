// What every thread does right now.
#include "ops/stacks.h"

#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "http/trace_request.h"
#include "ops/async_stacks.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kSpeedscope = "application/speedscope+json";

// Reads the heap of a copy of the process: the other parameters are about threads.
Result<HttpResponse> async_stacks(Call& call, const ops::TargetRequest& target) {
  const auto seen = TRY(ops::take_async_stacks({.target = target}));
  if (call.wants(kText)) return text_answer(ops::async_text(seen));
  if (call.wants(kSpeedscope))
    return fail(Errc::kUsage, "async stacks are available as JSON and text only")
        .hint("request application/json or text/plain");
  return json_answer(ops::async_json(seen));
}

Result<HttpResponse> stacks(Call& call) {
  TRY(no_egress(call));
  auto& processes = call.services().processes;
  const auto process = TRY(processes.chosen(call));
  if (TRY(call.truth("async", false))) return async_stacks(call, processes.target(process));
  ops::StacksRequest request{.target = processes.target(process)};
  request.snapshot.native = TRY(call.truth("native", false));
  request.snapshot.lines = TRY(call.truth("lines", false));
  if (!TRY(call.truth("stop", true))) request.snapshot.stop = ops::StopPolicy::kNever;
  const bool merged = TRY(call.truth("merged", false)) || call.text("view") == "merged";
  const auto seen = TRY(ops::take_stacks(request));
  if (call.wants(kText))
    return text_answer(ops::stacks_text(
        seen, {.view = merged ? ops::StacksView::kMerged : ops::StacksView::kThreads,
               .native = request.snapshot.native}));
  if (call.wants(kSpeedscope))
    return HttpResponse{.type = std::string{kSpeedscope}, .body = ops::stacks_speedscope(seen)};
  return json_answer(ops::stacks_monitor_json(seen));
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
    {.name = "async",
     .type = "boolean",
     .help = "logical stacks of async methods instead of threads; pauses the process briefly"},
    {.name = "merged", .type = "boolean", .help = "threads with the same stack together (text)"},
    {.name = "native", .type = "boolean", .help = "native frames too"},
    {.name = "lines", .type = "boolean", .help = "source files and lines, where PDBs are found"},
    {.name = "stop", .type = "boolean", .help = "false: never stop a thread, not even briefly"},
    {.name = "egressProvider", .type = "string", .help = "not yet: an error"},
    {.name = "tags", .type = "string", .help = "taken and not used"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/stacks",
     .scope = Scope::kRead,
     .summary = "What every thread does, who holds which lock, who waits",
     .types = "application/json text/plain application/speedscope+json",
     .parameters = kParameters,
     .answer = stacks,
     .json = ops::stacks_route_shape,
     .statuses = "400"},
};

}  // namespace

extern constexpr Routes stacks_routes{kRoutes};

}  // namespace clrscope::http
