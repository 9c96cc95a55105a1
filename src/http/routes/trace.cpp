// Records and answers with the trace, while it is recorded.
#include "http/answer.h"
#include "http/route.h"
#include "http/trace_stream.h"
#include "http/trace_wish.h"

namespace clrscope::http {
namespace {

Result<TraceWish> wish_of(const Call& call) {
  TRY(no_egress(call));
  auto wish = TRY(trace_wish(call));
  if (call.request().method == "POST" && wish.providers.empty() && !wish.profile)
    return fail(Errc::kUsage, "providers: the field is required");
  return wish;
}

void trace(Call call) {
  const auto wish = wish_of(call);
  if (!wish) return call.send(wish.error());
  stream_trace(std::move(call), *wish);
}

const Route kRoutes[] = {
    {.method = "GET",
     .path = "/trace",
     .scope = Scope::kTrace,
     .summary = "Records a process and answers with the trace while it is recorded",
     .types = kOctets,
     .parameters = kTraceParameters,
     .serve = trace,
     .runs = Runs::kLong,
     .load = Load::kRecording,
     .statuses = "400 429"},
    {.method = "POST",
     .path = "/trace",
     .scope = Scope::kTrace,
     .summary = "The same with providers of the client's choice",
     .types = kOctets,
     .parameters = kTraceParameters,
     .serve = trace,
     .runs = Runs::kLong,
     .load = Load::kRecording,
     .body = kTraceBody,
     .statuses = "400 429"},
};

}  // namespace

extern const Routes trace_routes{kRoutes};

}  // namespace clrscope::http
