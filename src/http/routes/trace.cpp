// Records and answers with the trace, while it is recorded.
#include "http/route.h"
#include "http/trace_request.h"
#include "http/trace_stream.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<TraceRequest> request_of(const Call& call) {
  TRY(no_egress(call));
  auto options = TRY(trace_request(call));
  if (call.request().method == "POST" && options.providers.empty() && !options.profile)
    return fail(Errc::kUsage, "providers: the field is required");
  return options;
}

void trace(Call call) {
  const auto options = request_of(call);
  if (!options) return call.send(options.error());
  stream_trace(std::move(call), *options);
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
     .summary = "The same, with the providers of the body",
     .types = kOctets,
     .parameters = kTraceParameters,
     .serve = trace,
     .body = value_shape<TraceBody>,
     .runs = Runs::kLong,
     .load = Load::kRecording,
     .statuses = "400 429"},
};

}  // namespace

extern const Routes trace_routes{kRoutes};

}  // namespace clrscope::http
