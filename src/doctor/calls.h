// What the findings on slow outgoing calls share.
#pragma once

#include <string_view>
#include <vector>

#include "doctor/finding.h"

namespace clrscope::doctor {

struct SlowCallWords {
  std::string_view title;        // "Slow HTTP requests"
  std::string_view one;          // "request"
  std::string_view preposition;  // "to"
  std::string_view advice;       // after the caller's name
};

// Of places whose mean is at least `mean_ms`, made of `least` calls or more: one report, the place
// that took most time first. Empty: none.
std::vector<Report> slow_calls(const Evidence& evidence, const std::vector<CallPlace>& places,
                               const SlowCallWords& words, double mean_ms, double least);

}  // namespace clrscope::doctor
