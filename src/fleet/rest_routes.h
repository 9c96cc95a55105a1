// What the REST API answers: one table, from which docs/fleet-openapi.json is made too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/shape.h"
#include "fleet/access.h"
#include "fleet/rest_body.h"
#include "net/http_message.h"
#include "site/openapi.h"
#include "store/store.h"

namespace clrscope::fleet {

// A question about a tenant's data: the store is that of the caller's tenant.
struct RestCall {
  const net::HttpRequest& request;
  store::Store& store;
  const Caller& caller;
  FleetAudit& audit;
  RestBody& body;  // of the answer
  WallTime now{};
  std::string value{};  // of the {brace} of the path
};

// A question about the server: no way leads from it to a store.
struct ServerCall {
  const Tenants& tenants;
  const Caller& caller;
};

using RestParameter = site::ApiParameter;

struct RestRoute {
  std::string_view path;  // "/fleet/requests/{traceId}"
  std::string_view summary;
  std::span<const RestParameter> parameters{};
  const ValueShape& (*json)() = nullptr;               // of the answer; none: it is not described
  Result<> (*answer)(const RestCall& call) = nullptr;  // into its body
  Result<std::string> (*of_server)(const ServerCall& call) = nullptr;  // instead of answer
  // By POST, with a body of this shape; requires the scope admin.
  Result<> (*change)(const RestCall& call) = nullptr;
  const ValueShape& (*body)() = nullptr;
  const ValueShape& (*changed)() = nullptr;  // of its answer
  std::string_view statuses{};               // "400 404": beside 200
  bool open = false;                         // nobody is asked for a token
  bool at_once = false;                      // needs no store: does not wait behind queries
  std::string_view method = "get";
  std::string_view file{};  // name of the file that it answers instead of JSON
};

std::span<const RestRoute> rest_routes();

// The route of a path, and the value of its {brace}; null: there is none.
struct RestMatch {
  const RestRoute* route = nullptr;
  std::string value{};
};
RestMatch find_route(std::string_view path);

}  // namespace clrscope::fleet
