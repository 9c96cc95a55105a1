// Spans of other tracers: rows of their own, found by trace id.
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {
namespace {

std::string text_of(const TraceId& trace) { return std::string{as_text(Bytes{trace})}; }

}  // namespace

Result<> SqliteStore::add_otlp(std::span<const OtlpSpan> spans) {
  const std::lock_guard lock{writing_};
  auto transaction = TRY(Transaction::begin(*writer_));
  auto insert = TRY(writer_->prepare(
      "INSERT OR IGNORE INTO otlp_span(trace, span, content, t, parent, service, host, version, "
      "scope, name, kind, status, message, begin, duration, dropped, attributes) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const auto& span : spans) {
    const auto trace = text_of(span.trace), attributes = packed_attributes(span);
    const std::int64_t begin = span.begin.time_since_epoch().count();
    insert.bind(as_bytes(trace), span.span_id, content_of(span), begin / kBucket, span.parent_id,
                span.service, span.host, span.version, span.scope, span.name, span.kind,
                span.status, span.message, begin, std::int64_t{span.duration.count()},
                span.attributes_dropped, as_bytes(attributes));
    TRY(insert.run());
  }
  return transaction.commit();
}

Result<std::vector<OtlpSpan>> SqliteStore::otlp_spans(const TraceId& trace) {
  return reading([&](Database& database) -> Result<std::vector<OtlpSpan>> {
    auto rows = TRY(database.prepare(
        "SELECT span, parent, service, host, version, scope, name, kind, status, message, begin, "
        "duration, dropped, attributes FROM otlp_span WHERE trace = ? ORDER BY begin, span, "
        "content LIMIT ?"));
    const auto key = text_of(trace);
    rows.bind(as_bytes(key), std::uint64_t{kMostOtlpSpans + 1});
    std::vector<OtlpSpan> found;
    while (TRY(rows.step())) {
      OtlpSpan span{.trace = trace};
      int column = 0;
      for (auto* text : {&span.span_id, &span.parent_id, &span.service, &span.host, &span.version,
                         &span.scope, &span.name, &span.kind, &span.status, &span.message})
        *text = rows.text(column++);
      span.begin = WallTime{std::chrono::nanoseconds{rows.integer(10)}};
      span.duration = std::chrono::nanoseconds{rows.integer(11)};
      span.attributes_dropped = static_cast<std::uint32_t>(rows.integer(12));
      span.attributes = TRY(read_attributes(rows.blob(13)));
      found.push_back(std::move(span));
    }
    return found;
  });
}

// Under writing_.
Result<> SqliteStore::expire_otlp(std::int64_t bucket) {
  auto drop = TRY(writer_->prepare("DELETE FROM otlp_span WHERE t < ?"));
  return drop.bind(bucket).run();
}

}  // namespace clrscope::store
