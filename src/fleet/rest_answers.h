// What the REST API answers, around what a store answers. Data and its shape for JSON.
#pragma once

#include "fleet/tenants.h"
#include "fleet/trace_tree.h"
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

// Series as rows, for programs that draw tables: Grafana.
struct GroupPoint {
  WallTime time{};
  std::string group{};
  store::Latency latency{};
};
const Shape& shape_of(const GroupPoint*);
struct PointsAnswer {
  std::vector<GroupPoint> points{};
};
const Shape& shape_of(const PointsAnswer*);

struct RequestsAnswer {
  std::vector<store::StoredRequest> requests{};
};
const Shape& shape_of(const RequestsAnswer*);

// All that is known of one trace.
struct TraceAnswer {
  std::vector<store::StoredRequest> requests{};
  std::vector<store::OtlpSpan> spans{};
  bool cut = false;  // it has more spans
  std::vector<TraceLine> lines{};
};
const Shape& shape_of(const TraceAnswer*);

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

// Of POST /v1/traces, as OTLP has it; written by protobuf.
struct OtlpPartialSuccess {
  std::string rejected_spans{};
  std::string error_message{};
};
const Shape& shape_of(const OtlpPartialSuccess*);
struct OtlpAnswer {
  std::optional<OtlpPartialSuccess> partial_success{};
};
const Shape& shape_of(const OtlpAnswer*);

struct TenantsAnswer {
  std::vector<TenantUse> tenants{};
};
const Shape& shape_of(const TenantsAnswer*);

struct HealthAnswer {
  std::string status = "ok";
};
const Shape& shape_of(const HealthAnswer*);

}  // namespace clrscope::fleet
