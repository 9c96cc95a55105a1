#include "fleet/rest_answers.h"

namespace clrscope::fleet {

const Shape& shape_of(const ServicesAnswer*) {
  using A = ServicesAnswer;
  static const auto shape = describe<A>("FleetServices", "services that sent requests",
                                        {member<&A::services>("services", "by name")});
  return shape;
}

const Shape& shape_of(const RoutesAnswer*) {
  using A = RoutesAnswer;
  static const auto shape =
      describe<A>("FleetRoutes", "routes of a service",
                  {member<&A::routes>("routes", "by running time, most first")});
  return shape;
}

const Shape& shape_of(const SeriesAnswer*) {
  using A = SeriesAnswer;
  static const auto shape = describe<A>(
      "FleetSeriesAnswer", "requests in groups, over time",
      {member<&A::by>("by", "what they are grouped by"),
       member<&A::step>("stepMs", "length of a step; 0: no points over time"),
       member<&A::series>("series", "groups by requests, most first; routes by running time")});
  return shape;
}

const Shape& shape_of(const RequestsAnswer*) {
  using A = RequestsAnswer;
  static const auto shape =
      describe<A>("FleetRequests", "requests", {member<&A::requests>("requests", "the requests")});
  return shape;
}

const Shape& shape_of(const HostsAnswer*) {
  using A = HostsAnswer;
  static const auto shape = describe<A>("FleetHosts", "processes that send requests",
                                        {member<&A::hosts>("hosts", "by host and service")});
  return shape;
}

const Shape& shape_of(const StatusAnswer*) {
  using A = StatusAnswer;
  static const auto shape =
      describe<A>("FleetStatus", "the server, and the caller",
                  {member<&A::version>("version", "version of clrscope-fleet"),
                   member<&A::reader>("reader", "name of the token"),
                   member<&A::tenant>("tenant", "whose data it sees; empty: there are no tenants"),
                   member<&A::admin>("admin", "whether it may change configurations"),
                   member<&A::signed_in>("signedIn", "whether a browser's cookie says who it is")});
  return shape;
}

const Shape& shape_of(const TenantsAnswer*) {
  using A = TenantsAnswer;
  static const auto shape = describe<A>("FleetTenants", "tenants of the server",
                                        {member<&A::tenants>("tenants", "by name")});
  return shape;
}

const Shape& shape_of(const HealthAnswer*) {
  using A = HealthAnswer;
  static const auto shape =
      describe<A>("FleetHealth", "whether the server runs", {member<&A::status>("status", "ok")});
  return shape;
}

}  // namespace clrscope::fleet
