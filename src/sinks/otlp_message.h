// Metrics as OpenTelemetry's protocol has them: the bytes of an ExportMetricsServiceRequest, and
// what the answer says. Pure.
//
// Each process is a resource, each meter or EventSource a scope. Totals are cumulative from where
// we began to look.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sinks/metric_store.h"

namespace clrscope::sinks {

struct OtlpRequest {
  std::string bytes{};
  std::uint32_t points = 0;
};

struct OtlpContext {
  std::string host{};  // host.name; empty: not told
};

// One request for each process that has something newer than the revision `since`.
std::vector<OtlpRequest> otlp_requests(const MetricStore& store, std::uint64_t since,
                                       const OtlpContext& context);

struct OtlpAnswer {
  std::uint64_t rejected = 0;  // data points
  std::string why{};
};
// An answer that makes no sense rejects nothing.
OtlpAnswer read_otlp_answer(std::string_view bytes);

// What RetryInfo asks for, in the header grpc-status-details-bin of a gRPC answer.
std::optional<std::chrono::nanoseconds> otlp_retry_delay(std::string_view base64);

}  // namespace clrscope::sinks
