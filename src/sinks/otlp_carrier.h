// Carries OTLP messages to a collector, over HTTP or gRPC, for an outbox: metrics of the sink
// `otlp`, spans and profiles of the fleet server.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/guarded.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "sinks/outbox.h"

namespace clrscope::sinks {

// Which of OTLP's messages are carried.
struct OtlpSignal {
  std::string_view path;  // of HTTP
  const char* method;     // of gRPC
};
inline constexpr OtlpSignal kOtlpMetrics{
    "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"};
inline constexpr OtlpSignal kOtlpSpans{
    "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"};
// Not stable yet: its number is part of its name.
inline constexpr OtlpSignal kOtlpProfiles{
    "/v1development/profiles",
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"};

struct OtlpPeer {
  OtlpSignal signal{};
  std::variant<net::HttpUrl, net::GrpcTarget> address{};
  std::shared_ptr<net::TlsContext> tls{};
  std::vector<net::HttpField> fields{};
  std::chrono::nanoseconds timeout{std::chrono::seconds{10}};

  bool wants_tls() const;
};

// "http://host:4318", "https://…", "grpc://host:4317" or "grpcs://…", without TLS and headers.
Result<OtlpPeer> parse_otlp_peer(std::string_view text, const OtlpSignal& signal);
// "NAME: VALUE" on each line. Messages name the line, never what stands in it.
Result<> add_headers_of_file(const std::string& path, std::vector<net::HttpField>& fields);

// What became of messages, told by the outbox's thread to another.
struct OtlpFate {
  std::uint64_t rejected = 0;  // points or spans, of whole messages or some of one
  std::uint64_t told = 0;      // of these
  std::string why{};
};

std::unique_ptr<Carrier> make_otlp_carrier(const OtlpPeer& peer,
                                           std::shared_ptr<Guarded<OtlpFate>> fate);

}  // namespace clrscope::sinks
