// The watch as text: all processes, and one with its findings.
#pragma once

#include <vector>

#include "base/document.h"
#include "live/watch_answers.h"

namespace clrscope::live {

Document watch_document(const std::vector<WatchedProcess>& processes);
Document watch_document(const WatchAnswer& answer);

}  // namespace clrscope::live
