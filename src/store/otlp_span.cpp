#include "store/otlp_span.h"

#include "store/clickhouse/hash.h"

namespace clrscope::store {
namespace {

void put_text(ByteWriter& out, std::string_view text) {
  out.write_varuint(text.size());
  out.put(text);
}

}  // namespace

std::span<const std::string_view> otlp_kinds() {
  static constexpr std::string_view kNames[] = {"unspecified", "internal", "server",
                                                "client",      "producer", "consumer"};
  return kNames;
}

std::span<const std::string_view> otlp_statuses() {
  static constexpr std::string_view kNames[] = {"unset", "ok", "error"};
  return kNames;
}

std::string packed_attributes(const OtlpSpan& span) {
  ByteWriter out;
  for (const auto& one : span.attributes) {
    put_text(out, one.key);
    put_text(out, one.value);
  }
  return std::string{as_text(out.bytes())};
}

Result<std::vector<OtlpAttribute>> read_attributes(Bytes packed) {
  std::vector<OtlpAttribute> found;
  ByteReader in{packed};
  const auto text = [&] { return std::string{as_text(in.take(in.read_varuint()))}; };
  while (in.ok() && !in.at_end()) {
    auto key = text();
    found.push_back({std::move(key), text()});
  }
  if (!in.ok()) return fail(Errc::kCorrupt, "the attributes of a span are damaged");
  return found;
}

std::uint64_t content_of(const OtlpSpan& span) {
  ByteWriter all;
  for (const auto* text : {&span.span_id, &span.parent_id, &span.service, &span.host, &span.version,
                           &span.scope, &span.name, &span.kind, &span.status, &span.message})
    put_text(all, *text);
  all.put(Bytes{span.trace});
  all.write(static_cast<std::int64_t>(span.begin.time_since_epoch().count()));
  all.write(static_cast<std::int64_t>(span.duration.count()));
  all.put(packed_attributes(span));
  return hash_of(as_text(all.bytes()));
}

const Shape& shape_of(const OtlpAttribute*) {
  using A = OtlpAttribute;
  static const auto shape =
      describe<A>("FleetOtlpAttribute", "an attribute of a span",
                  {member<&A::key>("key", "name"), member<&A::value>("value", "value as text")});
  return shape;
}

const Shape& shape_of(const OtlpSpan*) {
  using S = OtlpSpan;
  static const auto shape = describe<S>(
      "FleetOtlpSpan", "a span that another tracer sent by OTLP",
      {member<&S::span_id>("spanId", "16 hexadecimal digits"),
       member_unless_empty<&S::parent_id>("parentSpanId", "span id of its parent"),
       member<&S::service>("service", "service.name of its resource"),
       member_unless_empty<&S::host>("host", "host.name of its resource"),
       member_unless_empty<&S::version>("version", "service.version of its resource"),
       member_unless_empty<&S::scope>("scope", "name of the instrumentation library"),
       member<&S::name>("name", "name of the operation"),
       member<&S::kind>("kind", "internal, server, client, producer, consumer or unspecified"),
       member<&S::status>("status", "unset, ok or error"),
       member_unless_empty<&S::message>("statusMessage", "why it failed"),
       member<&S::begin>("startTime", "begin"), member<&S::duration>("durationMs", "duration"),
       member_unless_empty<&S::attributes>("attributes", "attributes of the span"),
       member<&S::attributes_dropped>("attributesDropped",
                                      "attributes that were dropped by the sender or here")});
  return shape;
}

}  // namespace clrscope::store
