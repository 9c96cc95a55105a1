// How a relay reaches its server: address, certificates, token. Includes gRPC: for the relay.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "base/result.h"

namespace clrscope::fleet {

struct Connection {
  std::string address{};
  std::string token{};  // empty: none
  std::shared_ptr<grpc::ChannelCredentials> credentials{};

  std::shared_ptr<grpc::Channel> channel() const;
  void authorize(grpc::ClientContext& context) const {
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  }
};

// `to`: "grpc://HOST:PORT", or "grpcs://…" with TLS, which is required beyond loopback.
Result<Connection> connect_to(const std::string& to, const std::string& ca_file,
                              const std::string& token_file);

}  // namespace clrscope::fleet
