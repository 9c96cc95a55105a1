// OTLP traces over gRPC: OpenTelemetry's TraceService, at the address of our own services. Includes
// gRPC: for server.cpp.
//
// A message is read only after its token and its size were looked at: a few bytes of an unknown
// caller may mean gigabytes of spans.
#pragma once

#include <grpcpp/grpcpp.h>

#include <thread>

#include <clrscope/fleet/v1/otlp_traces.grpc.pb.h>
#include "base/channel.h"
#include "fleet/access.h"
#include "fleet/otlp_receiver.h"

namespace clrscope::fleet {

class OtlpService final
    : public otlp::TraceService::WithRawCallbackMethod_Export<otlp::TraceService::Service> {
 public:
  explicit OtlpService(Access access);

  grpc::ServerUnaryReactor* Export(grpc::CallbackServerContext* context,
                                   const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;

 private:
  struct Job {
    grpc::ServerUnaryReactor* reactor = nullptr;  // ends with Finish()
    const grpc::ByteBuffer* request = nullptr;    // live until then
    grpc::ByteBuffer* response = nullptr;
    Tenant* tenant = nullptr;
  };
  void work(const std::stop_token& stop);

  static constexpr std::size_t kMostWaiting = 16;  // of kMostOtlpBytes each
  const Access access_;
  Channel<Job> jobs_{kMostWaiting};
  std::jthread worker_;  // gRPC's own threads must not wait for a store
};

}  // namespace clrscope::fleet
