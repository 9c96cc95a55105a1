// Profiled requests as documents for people: a table of routes, and one request as a waterfall.
#pragma once

#include "analyze/request_answers.h"
#include "base/document.h"

namespace clrscope::analyze {

// The live state of a profile: everything but single requests.
Document routes_document(const RequestProfile& profile, std::size_t rows);

enum class WaterfallStyle : std::uint8_t { kUnicode, kAscii };
// Routes, and the slowest request as a waterfall.
Document requests_document(const RequestProfile& profile, std::size_t rows, WaterfallStyle style);
// One request alone.
Document request_document(const ProfiledRequest& request, WaterfallStyle style);
// By its trace id, or the beginning of it; null: none, or several.
const ProfiledRequest* find_request(const RequestProfile& profile, std::string_view trace_id);

}  // namespace clrscope::analyze
