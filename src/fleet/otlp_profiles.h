// CPU samples of requests as OpenTelemetry's profiles, signal v1development (OTLP 1.9 to 1.11).
// Pure.
//
// Samples link to the spans of otlp_spans.h. Layout: docs/formats/otlp-profiles.md
#pragma once

#include <optional>
#include <string>

#include "store/batch.h"

namespace clrscope::fleet {

// ExportProfilesServiceRequest of one profile; nothing: the batch has no CPU samples. The same
// batch gives the same bytes.
std::optional<std::string> otlp_profile(const store::Batch& batch);

}  // namespace clrscope::fleet
