// What the REST API answers, around what a store answers. Data and its shape for JSON.
#pragma once

#include "fleet/tenants.h"
#include "store/answers.h"

namespace clrscope::fleet {

struct ServicesAnswer {
  std::vector<store::ServiceSummary> services{};
};
const Shape& shape_of(const ServicesAnswer*);

struct RoutesAnswer {
  std::vector<store::RouteSummary> routes{};
};
const Shape& shape_of(const RoutesAnswer*);

struct SeriesAnswer {
  std::string by{};
  std::chrono::nanoseconds step{};
  std::vector<store::Series> series{};
};
const Shape& shape_of(const SeriesAnswer*);

struct RequestsAnswer {
  std::vector<store::StoredRequest> requests{};
};
const Shape& shape_of(const RequestsAnswer*);

struct HostsAnswer {
  std::vector<store::HostSummary> hosts{};
};
const Shape& shape_of(const HostsAnswer*);

struct StatusAnswer {
  std::string version = CLRSCOPE_VERSION;
  std::string reader{};
  std::string tenant{};
  bool admin = false;
  bool signed_in = false;
};
const Shape& shape_of(const StatusAnswer*);

struct TenantsAnswer {
  std::vector<TenantUse> tenants{};
};
const Shape& shape_of(const TenantsAnswer*);

struct HealthAnswer {
  std::string status = "ok";
};
const Shape& shape_of(const HealthAnswer*);

}  // namespace clrscope::fleet
