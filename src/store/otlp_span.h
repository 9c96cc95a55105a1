// A span that another tracer sent (OpenTelemetry, any language). Data and its shape for JSON.
//
// It is stored once: its trace, its id and what it holds decide, so that an exporter may send it
// again in another batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/request.h"

namespace clrscope::store {

struct OtlpAttribute {
  std::string key{};
  std::string value{};
};
const Shape& shape_of(const OtlpAttribute*);

struct OtlpSpan {
  TraceId trace{};
  std::string span_id{};    // 16 hexadecimal digits
  std::string parent_id{};  // likewise; empty: none
  std::string service{};
  std::string host{};
  std::string version{};
  std::string scope{};  // instrumentation library
  std::string name{};
  std::string kind{};     // "server": one of otlp_kinds()
  std::string status{};   // "unset", "ok" or "error"
  std::string message{};  // of the status
  WallTime begin{};
  std::chrono::nanoseconds duration{};
  std::vector<OtlpAttribute> attributes{};
  std::uint32_t attributes_dropped = 0;
};
const Shape& shape_of(const OtlpSpan*);

// By OpenTelemetry's numbers.
std::span<const std::string_view> otlp_kinds();
std::span<const std::string_view> otlp_statuses();

// Of all that it holds; stored: never changes.
std::uint64_t content_of(const OtlpSpan& span);

// All attributes as bytes, for a column.
std::string packed_attributes(const OtlpSpan& span);
Result<std::vector<OtlpAttribute>> read_attributes(Bytes packed);

// Of one trace; more are not answered.
inline constexpr std::size_t kMostOtlpSpans = 10'000;

}  // namespace clrscope::store
