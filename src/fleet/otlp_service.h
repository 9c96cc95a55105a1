// OTLP traces over gRPC: OpenTelemetry's TraceService, at the address of our own services. Includes
// gRPC: for server.cpp.
#pragma once

#include <grpcpp/grpcpp.h>

#include <clrscope/fleet/v1/otlp_traces.grpc.pb.h>
#include "fleet/access.h"
#include "fleet/otlp_receiver.h"

namespace clrscope::fleet {

class OtlpService final : public otlp::TraceService::Service {
 public:
  explicit OtlpService(Access access) : access_(access) {}

  grpc::Status Export(grpc::ServerContext* context, const otlp::ExportTraceServiceRequest* request,
                      otlp::ExportTraceServiceResponse* response) override;

 private:
  const Access access_;
};

}  // namespace clrscope::fleet
