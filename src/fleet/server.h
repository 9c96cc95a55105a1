// The fleet server: takes batches by gRPC, keeps them in a store, answers queries by gRPC and REST.
//
// It requires tokens, or no_auth on loopback; beyond loopback also TLS. Members end in the reverse
// of their order.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "fleet/otlp_forwarder.h"
#include "store/store.h"

namespace clrscope::fleet {

struct ServeSetting {
  std::string store{};    // "sqlite:FILE"; with tenants "sqlite:FOLDER"
  std::string tenants{};  // file; empty: one tenant
  std::string listen{};   // HOST:PORT of gRPC; port 0: a free one
  std::string http{};     // HOST:PORT of REST; empty: none
  std::string tls_certificate{};
  std::string tls_key{};     // empty: in the certificate's file
  std::string token_file{};  // empty: only with no_auth
  bool no_auth = false;      // anybody on this machine may send and read
  std::string audit_file{};
  store::Retention retention{};
  store::QueryLimits query_limits{};
  std::uint64_t host_limit = 0;   // spans and requests per second and host; 0: none
  OtlpForwarder::Setting otlp{};  // where spans are sent to; empty: nowhere
};

class FleetServer {
 public:
  static Result<std::unique_ptr<FleetServer>> start(ServeSetting setting);
  ~FleetServer();

  const std::string& grpc_address() const;  // with the real port
  const std::string& http_address() const;  // a URL; empty: none
  std::string one_time_address();           // of the pages: signs a browser in; empty: not needed
  // About once a second: tokens and tenants that changed. Retention goes on by itself.
  void tick();

 private:
  struct Impl;
  explicit FleetServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether only this machine can connect to it.
bool is_loopback(std::string_view address);

}  // namespace clrscope::fleet
