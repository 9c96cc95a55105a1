#include "fleet/otlp_service.h"

#include "fleet/grpc_services.h"

namespace clrscope::fleet {

grpc::Status OtlpService::Export(grpc::ServerContext* context,
                                 const otlp::ExportTraceServiceRequest* request,
                                 otlp::ExportTraceServiceResponse* response) {
  if (auto status = admit(*context, access_, Scope::kIngest, "gRPC TraceService.Export");
      !status.ok())
    return status;
  if (request->ByteSizeLong() > kMostOtlpBytes)
    return {grpc::StatusCode::INVALID_ARGUMENT, "the message is larger than 4 MiB"};
  const auto done = receiver_.take(*request, target_);
  if (done) {
    *response = *done;
    return grpc::Status::OK;
  }
  // Of these two exporters try again UNAVAILABLE only.
  return {grpc::StatusCode::UNAVAILABLE, done.error().what};
}

}  // namespace clrscope::fleet
