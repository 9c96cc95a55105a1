// Spans of other tracers: rows of their own, found by trace id. They need no ledger: a row that
// arrives twice is the same row, and reads take it once.
#include <fmt/format.h>

#include "model/trace_id.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/sqlite/percentile.h"

namespace clrscope::store {
namespace {

constexpr std::int64_t kBucketNs = 10'000'000'000;

template <class Member>
void write_column(ByteWriter& out, const OtlpSpan& span, Member member) {
  out.write_varuint(span.attributes.size());
  for (const auto& one : span.attributes) write_text(out, one.*member);
}

}  // namespace

Result<> ClickhouseStore::add_otlp(std::span<const OtlpSpan> spans) {
  if (spans.empty()) return {};
  ByteWriter rows;
  for (const auto& span : spans) {
    const std::int64_t begin = span.begin.time_since_epoch().count();
    rows.put(Bytes{span.trace});
    write_text(rows, span.span_id);
    rows.write(content_of(span));
    rows.write(static_cast<std::uint32_t>(begin / kBucketNs));
    rows.write(begin);
    rows.write(static_cast<std::uint64_t>(span.duration.count()));
    for (const auto* text : {&span.parent_id, &span.service, &span.host, &span.version, &span.scope,
                             &span.name, &span.kind, &span.status, &span.message})
      write_text(rows, *text);
    write_column(rows, span, &OtlpAttribute::key);
    write_column(rows, span, &OtlpAttribute::value);
    rows.write(span.attributes_dropped);
  }
  Error last{Errc::kSystem, "no ClickHouse server is named"};
  const auto first = preferred_.load();
  for (const bool resting : {false, true})
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto& node = *nodes_[(first + i) % nodes_.size()];
      if (node.resting() != resting) continue;
      auto done = node.insert(schema_.all("otlp_span"), rows.bytes());
      if (done || done.error().code != Errc::kSystem) return done;
      last = done.error();
    }
  return fail(std::move(last));
}

Result<std::vector<OtlpSpan>> ClickhouseStore::otlp_spans(const TraceId& trace) {
  Rows rows{TRY(select(fmt::format(
      "SELECT span_id, parent_id, service, host, version, scope, name, kind, status, message, "
      "begin, duration, attribute_key, attribute_value, dropped FROM {} WHERE trace = "
      "toFixedString(unhex('{}'), 16) ORDER BY begin, span_id, content LIMIT 1 BY span_id, content "
      "LIMIT {}",
      schema_.all("otlp_span"), to_text(trace), kMostOtlpSpans + 1)))};
  std::vector<OtlpSpan> found;
  const auto texts = [&] {
    std::vector<std::string> all;
    for (auto count = rows.number_of_elements(); count > 0 && rows.ok(); --count)
      all.push_back(rows.text());
    return all;
  };
  while (rows.more()) {
    OtlpSpan span{.trace = trace};
    for (auto* text : {&span.span_id, &span.parent_id, &span.service, &span.host, &span.version,
                       &span.scope, &span.name, &span.kind, &span.status, &span.message})
      *text = rows.text();
    span.begin = wall(rows.number<std::int64_t>());
    span.duration = ns(rows.number<std::uint64_t>());
    auto keys = texts(), values = texts();
    values.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      span.attributes.push_back({std::move(keys[i]), std::move(values[i])});
    span.attributes_dropped = rows.number<std::uint32_t>();
    found.push_back(std::move(span));
  }
  TRY(rows.done());
  return found;
}

}  // namespace clrscope::store
