// Recordings and sessions as text.
#pragma once

#include <vector>

#include "archive/recordings.h"
#include "archive/sessions.h"
#include "base/document.h"

namespace clrscope::archive {

Document recordings_document(const std::vector<RecordingAnswer>& recordings);
Document sessions_document(const std::vector<SessionAnswer>& sessions);

}  // namespace clrscope::archive
