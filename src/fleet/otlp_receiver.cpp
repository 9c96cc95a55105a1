#include "fleet/otlp_receiver.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <map>

#include "base/decompress.h"
#include "base/json.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/text.h"
#include "model/trace_id.h"
#include "site/answer.h"

namespace clrscope::fleet {
namespace {

using net::HttpRequest;
using net::HttpResponse;

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::size_t kSpanIdBytes = 8;
constexpr std::size_t kMostAttributes = 64;
constexpr std::size_t kLongestKey = 128, kLongestValue = 1024, kLongestLabel = 255;
constexpr std::chrono::hours kAhead{24};        // of our clock
constexpr std::chrono::hours kLongest{7 * 24};  // span

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

void append_value(std::string& out, const otlp::AnyValue& value) {
  if (out.size() > kLongestValue) return;
  switch (value.value_case()) {
    case otlp::AnyValue::kStringValue:
      out += value.string_value();
      return;
    case otlp::AnyValue::kBoolValue:
      out += value.bool_value() ? "true" : "false";
      return;
    case otlp::AnyValue::kIntValue:
      out += fmt::format("{}", value.int_value());
      return;
    case otlp::AnyValue::kDoubleValue:
      out += fmt::format("{}", value.double_value());
      return;
    case otlp::AnyValue::kBytesValue:
      out += hex_of(std::string_view{value.bytes_value()}.substr(0, kLongestValue));
      return;
    case otlp::AnyValue::kArrayValue: {
      const char* separator = "[";
      for (const auto& one : value.array_value().values()) {
        out += std::exchange(separator, ", ");
        append_value(out, one);
      }
      out += separator[0] == '[' ? "[]" : "]";
      return;
    }
    case otlp::AnyValue::kKvlistValue: {
      const char* separator = "{";
      for (const auto& one : value.kvlist_value().values()) {
        out += std::exchange(separator, ", ") + one.key() + ": ";
        append_value(out, one.value());
      }
      out += separator[0] == '{' ? "{}" : "}";
      return;
    }
    case otlp::AnyValue::VALUE_NOT_SET:
      return;
  }
}

std::string value_of(const otlp::AnyValue& value, std::size_t most = kLongestValue) {
  std::string text;
  append_value(text, value);
  return cut_utf8(text, most);
}

std::string attribute(const otlp::Resource& resource, std::string_view key) {
  for (const auto& one : resource.attributes())
    if (one.key() == key) return value_of(one.value(), kLongestLabel);
  return {};
}

std::string name_of(std::span<const std::string_view> names, int number) {
  return std::string{names[number >= 0 && number < static_cast<int>(names.size())
                               ? static_cast<std::size_t>(number)
                               : 0]};
}

bool is_id(std::string_view bytes, std::size_t size) {
  return bytes.size() == size && bytes.find_first_not_of('\0') != std::string_view::npos;
}

// Why it cannot be stored; empty: it can.
std::string_view flaw_of(const otlp::Span& span, WallTime oldest, WallTime now) {
  if (!is_id(span.trace_id(), sizeof(TraceId))) return "trace_id must be 16 bytes, not all zero";
  if (!is_id(span.span_id(), kSpanIdBytes)) return "span_id must be 8 bytes, not all zero";
  if (!span.parent_span_id().empty() && span.parent_span_id().size() != kSpanIdBytes)
    return "parent_span_id must be empty or 8 bytes";
  const auto unsigned_ns = [](WallTime time) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0));
  };
  const auto begin = span.start_time_unix_nano(), end = span.end_time_unix_nano();
  if (begin < unsigned_ns(oldest)) return "start_time is older than the retention of the server";
  if (begin > unsigned_ns(now + kAhead)) return "start_time is more than a day in the future";
  if (end > begin &&
      end - begin > static_cast<std::uint64_t>(std::chrono::nanoseconds{kLongest}.count()))
    return "the span is longer than 7 days";
  return {};
}

store::OtlpSpan span_of(const otlp::Span& from, const store::OtlpSpan& common) {
  auto to = common;
  std::copy(from.trace_id().begin(), from.trace_id().end(), to.trace.begin());
  to.span_id = hex_of(from.span_id());
  if (is_id(from.parent_span_id(), kSpanIdBytes)) to.parent_id = hex_of(from.parent_span_id());
  to.name = cut_utf8(from.name(), kLongestValue);
  to.kind = name_of(store::otlp_kinds(), from.kind());
  to.status = name_of(store::otlp_statuses(), from.status().code());
  to.message = cut_utf8(from.status().message(), kLongestValue);
  const auto begin = from.start_time_unix_nano(), end = from.end_time_unix_nano();
  to.begin = WallTime{std::chrono::nanoseconds{begin}};
  to.duration = std::chrono::nanoseconds{end > begin ? end - begin : 0};
  to.attributes_dropped = from.dropped_attributes_count();
  for (const auto& one : from.attributes()) {
    if (to.attributes.size() == kMostAttributes)
      ++to.attributes_dropped;
    else
      to.attributes.push_back({cut_utf8(one.key(), kLongestKey), value_of(one.value())});
  }
  return to;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return std::uint32_t{static_cast<std::uint8_t>(bytes[at])};
    };
    const auto word = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    for (const auto shift : {18U, 12U, 6U, 0U}) out += kDigits[word >> shift & 63U];
  }
  return out;
}

// What base64 made of hexadecimal digits, as the bytes that they mean; nonsense becomes empty.
std::string unmistaken(std::string_view bytes) {
  const auto digits = base64_of(bytes);
  if (bytes.size() % 3 != 0 ||
      digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
    return {};
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const auto value = parse_number("0x" + digits.substr(i, 2));
    out += static_cast<char>(value.value_or(0));
  }
  return out;
}

Result<std::string> plain_body(const HttpRequest& request) {
  const auto encoding = request.field("Content-Encoding").value_or("identity");
  if (encoding == "identity" || encoding.empty()) return request.body;
  if (encoding != "gzip")
    return fail(Errc::kUnsupported, "Content-Encoding must be gzip or identity, not {}", encoding);
  std::string plain;
  Decompressor reader;
  const auto take = [&](Bytes bytes) -> Result<> {
    if (plain.size() + bytes.size() > kMostOtlpBytes)
      return fail(Errc::kTooLarge, "the body is larger than {} when it is decompressed",
                  format_bytes(kMostOtlpBytes));
    plain += as_text(bytes);
    return {};
  };
  TRY(reader.feed(as_bytes(request.body), take));
  if (!TRY(reader.finish(take)) || !reader.compressed())
    return fail(Errc::kUsage, "the body is not a whole gzip stream");
  return plain;
}

// google.rpc.Status, as OTLP has errors; in the type of the request.
HttpResponse refusal(int status, std::string_view what, bool json) {
  HttpResponse response{.status = status, .type = std::string{json ? site::kJson : kProtobuf}};
  if (status == 429 || status == 503) response.fields.push_back({"Retry-After", "5"});
  if (json) {
    JsonWriter out;
    out.begin_object().member("message", what).end_object();
    response.body = std::move(out).take();
  } else {
    otlp::Status message;  // its field 2 is the message, as there
    message.set_message(std::string{what});
    response.body = message.SerializeAsString();
  }
  return response;
}

int status_of(const Error& error) {
  switch (error.code) {
    case Errc::kUsage:
    case Errc::kCorrupt:
      return 400;
    case Errc::kUnsupported:
      return 415;
    case Errc::kTooLarge:
      return 413;
    case Errc::kBusy:
    case Errc::kNoRoom:
      return 429;
    case Errc::kDenied:
      return 403;
    default:
      return 503;  // it may be stored later
  }
}

}  // namespace

Result<otlp::ExportTraceServiceRequest> parse_otlp_json(const std::string& text) {
  otlp::ExportTraceServiceRequest request;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &request, options);
  if (!status.ok())
    return fail(Errc::kUsage, "the body is not OTLP/JSON: {}",
                status.message().ToString().substr(0, 200));
  for (auto& resource : *request.mutable_resource_spans())
    for (auto& scope : *resource.mutable_scope_spans())
      for (auto& span : *scope.mutable_spans()) {
        span.set_trace_id(unmistaken(span.trace_id()));
        span.set_span_id(unmistaken(span.span_id()));
        const bool has_parent = !span.parent_span_id().empty();
        span.set_parent_span_id(unmistaken(span.parent_span_id()));
        if (has_parent && span.parent_span_id().empty()) span.set_parent_span_id("?");  // refused
      }
  return request;
}

OtlpConverted convert_otlp(const otlp::ExportTraceServiceRequest& request, WallTime oldest,
                           WallTime now) {
  OtlpConverted done;
  for (const auto& of_resource : request.resource_spans()) {
    const auto& resource = of_resource.resource();
    store::OtlpSpan common{.service = attribute(resource, "service.name"),
                           .host = attribute(resource, "host.name"),
                           .version = attribute(resource, "service.version")};
    if (common.service.empty()) common.service = "unknown_service";
    for (const auto& of_scope : of_resource.scope_spans()) {
      common.scope = cut_utf8(of_scope.scope().name(), kLongestLabel);
      for (const auto& span : of_scope.spans()) {
        if (const auto flaw = flaw_of(span, oldest, now); !flaw.empty()) {
          ++done.rejected;
          done.reason = flaw;
        } else {
          done.spans.push_back(span_of(span, common));
        }
      }
    }
  }
  return done;
}

Result<otlp::ExportTraceServiceResponse> take_otlp(const otlp::ExportTraceServiceRequest& request,
                                                   Tenant& tenant) {
  const auto now = wall_now();
  const auto converted = convert_otlp(request, now - tenant.retention(), now);
  std::map<std::string, std::uint64_t> by_host;
  for (const auto& span : converted.spans) ++by_host[span.host];
  auto bytes = request.ByteSizeLong();
  for (const auto& [host, spans] : by_host)
    TRY(tenant.take_spans(host, spans, std::exchange(bytes, 0)));
  if (!converted.spans.empty()) {
    if (const auto done = tenant.store().add_otlp(converted.spans); !done) {
      log(LogLevel::kWarning, "cannot store spans: {}", done.error().what);
      return fail(Errc::kSystem, "cannot store: retry later");
    }
  }
  otlp::ExportTraceServiceResponse response;
  if (converted.rejected > 0) {
    auto& partial = *response.mutable_partial_success();
    partial.set_rejected_spans(static_cast<std::int64_t>(converted.rejected));
    partial.set_error_message(converted.reason);
  }
  return response;
}

HttpResponse answer_otlp(const HttpRequest& request, Tenant& tenant) {
  auto type = request.field("Content-Type").value_or("");
  type = trim(type.substr(0, type.find(';')));
  const bool json = equal_ignoring_case(type, site::kJson);
  if (request.method != "POST") return site::problem(405, "only POST is allowed");
  if (!json && !equal_ignoring_case(type, kProtobuf))
    return refusal(415, "Content-Type must be application/x-protobuf or application/json", true);
  const auto response = [&]() -> Result<otlp::ExportTraceServiceResponse> {
    const auto body = TRY(plain_body(request));
    otlp::ExportTraceServiceRequest message;
    if (json)
      message = TRY(parse_otlp_json(body));
    else if (!message.ParseFromString(body))
      return fail(Errc::kUsage, "the body is not an ExportTraceServiceRequest");
    return take_otlp(message, tenant);
  }();
  if (!response) return refusal(status_of(response.error()), response.error().what, json);
  HttpResponse done{.type = std::string{json ? site::kJson : kProtobuf}};
  if (!json) {
    done.body = response->SerializeAsString();
  } else if (!google::protobuf::util::MessageToJsonString(*response, &done.body).ok()) {
    done.body = "{}";
  }
  return done;
}

}  // namespace clrscope::fleet
