// Takes spans of other tracers: OTLP traces over HTTP (protobuf or JSON); otlp_service.h has gRPC.
//
// An exporter may send a batch again: each span is stored once. Spans that cannot be stored are
// counted and told in partial_success. Any thread. docs/fleet-open-doors.md
#pragma once

#include <clrscope/fleet/v1/otlp_traces.pb.h>

#include "fleet/tenants.h"
#include "net/http_message.h"
#include "store/store.h"

namespace clrscope::fleet {

namespace otlp = opentelemetry::proto::collector::trace::v1;

inline constexpr std::string_view kOtlpTraces = "/v1/traces";
inline constexpr std::size_t kMostOtlpBytes = 4 << 20;  // of a request, also when decompressed

// The ids of JSON are hexadecimal, which protobuf's reader takes for base64: puts them right.
Result<otlp::ExportTraceServiceRequest> parse_otlp_json(const std::string& text);

struct OtlpConverted {
  std::vector<store::OtlpSpan> spans{};
  std::uint64_t rejected = 0;
  std::string reason{};  // of one that was rejected
};
// `oldest`: begin of what is kept.
OtlpConverted convert_otlp(const otlp::ExportTraceServiceRequest& request, WallTime oldest,
                           WallTime now);

// Stores the spans of a caller for its tenant. kBusy and kNoRoom: the caller must wait. Returns
// after the spans are safe on disk.
Result<otlp::ExportTraceServiceResponse> take_otlp(const otlp::ExportTraceServiceRequest& request,
                                                   Tenant& tenant);
net::HttpResponse answer_otlp(const net::HttpRequest& request, Tenant& tenant);

}  // namespace clrscope::fleet
