// Lets gRPC calls in. Includes gRPC: for the services.
#pragma once

#include <grpcpp/grpcpp.h>

#include "fleet/access.h"

namespace clrscope::fleet {

// Who calls, if it may: the store is that of the caller's tenant.
struct Entry {
  grpc::Status status{};
  Caller caller{};
  bool ok() const { return status.ok(); }
  Tenant& tenant() const { return *caller.tenant; }
  store::Store& store() const { return caller.tenant->store(); }
};

Entry enter(const grpc::ServerContextBase& context, const Access& access, Scope scope,
            std::string_view what);

grpc::Status status_of(const Error& error);

}  // namespace clrscope::fleet
