// A doctor's report as HTML: cards in order of harm, evidence folded, advice to copy.
#pragma once

#include <string>

#include "base/json_reader.h"
#include "http/route.h"

namespace clrscope::http {

// `report` as `clrscope doctor --json` has it.
std::string report_cards(const Call& call, const JsonValue& report);

// What is new and what is gone since an earlier report of the same process; empty when nothing
// changed.
std::string report_changes(const JsonValue& earlier, const JsonValue& later);

// Visits of the doctor, as /doctor/reports lists them, each a link; `pid` 0: of all processes.
std::string visits_list(const Call& call, const JsonValue& visits, std::int64_t pid,
                        std::size_t most);

}  // namespace clrscope::http
