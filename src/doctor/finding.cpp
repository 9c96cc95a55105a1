#include "doctor/finding.h"

#include "base/text.h"

namespace clrscope::doctor {

#define FINDING(name) extern const Finding name##_finding;
#include "doctor/findings.inc"
#undef FINDING

std::span<const Finding* const> findings() {
  static constexpr const Finding* kAll[] = {
#define FINDING(name) &name##_finding,
#include "doctor/findings.inc"
#undef FINDING
  };
  return kAll;
}

const Finding* find_finding(std::string_view id) {
  for (const auto* finding : findings())
    if (equal_ignoring_case(finding->id, id)) return finding;
  return nullptr;
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kInfo:
      break;
  }
  return "info";
}

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kLikely:
      return "likely";
    case Confidence::kPossible:
      break;
  }
  return "possible";
}

bool Parameters::set(std::string_view name, double value) {
  const auto at = values_.find(name);
  if (at == values_.end()) return false;
  at->second = value;
  return true;
}

double Parameters::operator[](std::string_view name) const {
  const auto at = values_.find(name);
  CHECK(at != values_.end());
  return at->second;
}

}  // namespace clrscope::doctor
