#include "fleet/otlp_service.h"

#include "fleet/grpc_entry.h"

namespace clrscope::fleet {

grpc::Status OtlpService::Export(grpc::ServerContext* context,
                                 const otlp::ExportTraceServiceRequest* request,
                                 otlp::ExportTraceServiceResponse* response) {
  const auto entry = enter(*context, access_, Scope::kIngest, "gRPC TraceService.Export");
  if (!entry.ok()) return entry.status;
  if (request->ByteSizeLong() > kMostOtlpBytes)
    return {grpc::StatusCode::INVALID_ARGUMENT, "the message is larger than 4 MiB"};
  const auto done = take_otlp(*request, entry.tenant());
  if (done) {
    *response = *done;
    return grpc::Status::OK;
  }
  // Of these two exporters try again UNAVAILABLE only.
  return {grpc::StatusCode::UNAVAILABLE, done.error().what};
}

}  // namespace clrscope::fleet
