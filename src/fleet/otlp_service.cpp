#include "fleet/otlp_service.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include "fleet/grpc_entry.h"

namespace clrscope::fleet {
namespace {

using otlp::ExportTraceServiceRequest;
using otlp::ExportTraceServiceResponse;

grpc::Status answer(const grpc::ByteBuffer& bytes, Tenant& tenant, grpc::ByteBuffer& response) {
  ExportTraceServiceRequest request;
  auto copy = bytes;  // of the reference: reading takes it away
  if (!grpc::SerializationTraits<ExportTraceServiceRequest>::Deserialize(&copy, &request).ok())
    return {grpc::StatusCode::INVALID_ARGUMENT, "the message is not an ExportTraceServiceRequest"};
  const auto done = take_otlp(request, tenant);
  if (!done)  // exporters try again after UNAVAILABLE only
    return {done.error().code == Errc::kDenied ? grpc::StatusCode::PERMISSION_DENIED
                                               : grpc::StatusCode::UNAVAILABLE,
            done.error().what};
  bool own = false;
  return grpc::SerializationTraits<ExportTraceServiceResponse>::Serialize(*done, &response, &own);
}

}  // namespace

OtlpService::OtlpService(Access access)
    : access_(access), worker_([this](const std::stop_token& stop) { work(stop); }) {}

grpc::ServerUnaryReactor* OtlpService::Export(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) {
  auto* reactor = context->DefaultReactor();
  const auto entry = enter(*context, access_, Scope::kIngest, "gRPC TraceService.Export");
  if (!entry.ok())
    reactor->Finish(entry.status);
  else if (request->Length() > kMostOtlpBytes)
    reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, "the message is larger than 4 MiB"});
  else if (!jobs_.try_push({reactor, request, response, &entry.tenant()}))
    reactor->Finish({grpc::StatusCode::UNAVAILABLE, "too many messages wait: retry later"});
  return reactor;
}

void OtlpService::work(const std::stop_token& stop) {
  while (const auto job = jobs_.pop(stop))
    job->reactor->Finish(answer(*job->request, *job->tenant, *job->response));
}

}  // namespace clrscope::fleet
