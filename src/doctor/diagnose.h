// Evaluates the selected findings on evidence: the outcome of each, ranked by severity, with
// consequences attached to their causes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doctor/finding.h"

namespace clrscope::doctor {

enum class Outcome : std::uint8_t { kFound, kNothing, kNotRun };
std::span<const std::string_view> names_of(Outcome);  // "found", "nothing", "notRun"

struct Examined {
  const Finding* finding = nullptr;
  Outcome outcome = Outcome::kNothing;
  std::string reason{};  // of kNotRun
};

struct Selected {
  const Finding* finding = nullptr;
  Parameters parameters{};
};

struct Diagnosis {
  std::vector<Report> reports{};  // the first is the diagnosis
  std::vector<Examined> examined{};

  bool has(Severity at_least) const;
};

// Empty `ids`: all findings. `settings` are "CS1501.perSecond=10". An unknown id or parameter is an
// error that names the nearest.
Result<std::vector<Selected>> select(const std::vector<std::string>& ids,
                                     const std::vector<std::string>& settings);

Diagnosis diagnose(const Evidence& evidence, const std::vector<Selected>& selected);

}  // namespace clrscope::doctor
