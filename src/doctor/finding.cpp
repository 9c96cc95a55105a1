#include "doctor/finding.h"

#include <array>

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

std::span<const std::string_view> names_of(Severity) {
  static constexpr std::array<std::string_view, 3> kNames{"info", "warning", "error"};
  return kNames;
}
std::span<const std::string_view> names_of(Confidence) {
  static constexpr std::array<std::string_view, 3> kNames{"possible", "likely", "certain"};
  return kNames;
}
std::string_view name_of(Severity severity) {
  return names_of(severity)[static_cast<std::size_t>(severity)];
}
std::string_view name_of(Confidence confidence) {
  return names_of(confidence)[static_cast<std::size_t>(confidence)];
}

std::span<const std::string_view> names_of(EvidenceKind) {
  static constexpr std::array<std::string_view, 5> kNames{"memory", "events", "cpu",
                                                          "memory or events", "process"};
  return kNames;
}

EvidenceKind kind_of(const Needs& needs) {
  if (needs.snapshots || needs.heap || needs.async) return EvidenceKind::kMemory;
  if (needs.events) return EvidenceKind::kEvents;
  if (needs.cpu) return EvidenceKind::kCpu;
  if (needs.events_or_snapshots) return EvidenceKind::kMemoryOrEvents;
  return EvidenceKind::kProcess;
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
