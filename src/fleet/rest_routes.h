// What the REST API answers: one table, from which docs/fleet-openapi.json is made too.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/shape.h"
#include "net/http_message.h"
#include "site/openapi.h"
#include "store/store.h"

namespace clrscope::fleet {

// Who asks, as far as it is known.
struct Reader {
  std::string name{};      // of the token
  bool signed_in = false;  // a browser's cookie says who it is
};

struct RestCall {
  const net::HttpRequest& request;
  store::Store& store;
  const Reader& reader;
  WallTime now{};
  std::string value{};  // of the {brace} of the path
};

using RestParameter = site::ApiParameter;

struct RestRoute {
  std::string_view path;  // "/fleet/requests/{traceId}"
  std::string_view summary;
  std::span<const RestParameter> parameters{};
  const ValueShape& (*json)() = nullptr;  // of the answer; none: it is not described
  Result<std::string> (*answer)(const RestCall& call) = nullptr;
  std::string_view statuses{};  // "400 404": beside 200
  bool open = false;            // nobody is asked for a token
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
