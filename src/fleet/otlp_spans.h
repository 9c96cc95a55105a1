// Requests as OpenTelemetry's spans: a server span for each sampled request, internal spans for its
// calls. Pure.
#pragma once

#include <string>
#include <vector>

#include "store/batch.h"

namespace clrscope::fleet {

struct OtlpMessage {
  std::string bytes{};  // ExportTraceServiceRequest
  std::uint32_t spans = 0;
};

// Span ids are made of the id of the batch: the same batch gives the same ids. Requests without a
// trace id are left out.
std::vector<OtlpMessage> otlp_messages(const store::Batch& batch);

// What profiles of the same batch share with its spans. `span`: of the request, from 1; 0: itself.
std::string otlp_span_id(const store::Batch& batch, std::size_t request, std::uint32_t span);
std::string otlp_resource(const store::BatchSource& source);  // Resource
std::int64_t otlp_clock_shift(
    const store::Batch& batch);  // nanoseconds to add to times of the host

}  // namespace clrscope::fleet
