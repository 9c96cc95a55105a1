// For store_compare.cpp: spans of other tracers, random ones, some of them sent several times.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "store/store.h"

namespace clrscope::store {

inline std::string text_of(const OtlpSpan& one) {
  auto text = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", one.span_id, one.parent_id,
                          one.service, one.host, one.version, one.scope, one.name, one.kind,
                          one.status, one.message, one.begin.time_since_epoch().count(),
                          one.duration.count(), one.attributes_dropped);
  for (const auto& [key, value] : one.attributes) text += fmt::format(" {}={}", key, value);
  return text;
}

template <class Chance>
OtlpSpan random_span(Chance& chance, const std::vector<TraceId>& traces, std::int64_t start) {
  const auto word = [&] {
    return std::string(chance.below(30), static_cast<char>(32 + chance.below(95)));
  };
  OtlpSpan span{.trace = chance.of(traces),
                .span_id = fmt::format("{:016x}", chance.below(40)),
                .parent_id = chance.one_in(3) ? "" : fmt::format("{:016x}", chance.below(40)),
                .service = word(),
                .host = word(),
                .version = "it's \\",
                .name = word(),
                .kind = std::string{otlp_kinds()[chance.below(otlp_kinds().size())]},
                .status = std::string{otlp_statuses()[chance.below(otlp_statuses().size())]},
                .message = word(),
                .begin = WallTime{std::chrono::nanoseconds{
                    start + static_cast<std::int64_t>(chance.below(1'000'000'000'000))}},
                .duration = std::chrono::nanoseconds{chance.below(1'000'000)},
                .attributes_dropped = static_cast<std::uint32_t>(chance.below(3))};
  for (auto count = chance.below(4); count > 0; --count)
    span.attributes.push_back({fmt::format("key{}", count), word()});
  return span;
}

// Into SQLite once, into ClickHouse by every server until it succeeds.
template <class Chance, class Pair>
void compare_otlp(Pair& pair, Chance& chance, const std::vector<TraceId>& all, std::int64_t start,
                  std::vector<Store*> writers) {
  const std::vector<TraceId> traces{all[1 % all.size()], TraceId{7}, TraceId{8}};
  constexpr int kAdds = 5, kMostTries = 200;
  if (writers.empty()) writers.push_back(&pair.clickhouse);
  std::vector<OtlpSpan> spans;
  for (int i = 0; i < kAdds; ++i) {
    for (int k = 0; k < 20; ++k) spans.push_back(random_span(chance, traces, start));
    if (!pair.sqlite.add_otlp(spans)) std::exit(2);  // all earlier ones again
    for (auto* writer : writers) {
      int tries = 0;
      while (!writer->add_otlp(spans) && ++tries < kMostTries) {
      }
      if (tries == kMostTries) std::exit(2);
    }
  }
  for (const auto& trace : traces)
    pair.compare("OTLP spans", [&](Store& store) { return store.otlp_spans(trace); });
}

}  // namespace clrscope::store
