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

}  // namespace clrscope::fleet
