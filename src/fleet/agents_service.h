// Tells hosts how they shall profile. Includes gRPC: for its source and server.cpp.
#pragma once

#include <clrscope/fleet/v1/agents.grpc.pb.h>
#include "fleet/grpc_entry.h"

namespace clrscope::fleet {

class AgentsService final : public v1::Agents::Service {
 public:
  explicit AgentsService(Access access) : access_(access) {}

  grpc::Status Configuration(grpc::ServerContext* context, const v1::ConfigurationRequest* request,
                             v1::ConfigurationAnswer* answer) override;

 private:
  const Access access_;
};

}  // namespace clrscope::fleet
