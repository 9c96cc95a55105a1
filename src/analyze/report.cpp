#include "analyze/report.h"

namespace clrscope::analyze {

#define REPORT(name) extern const ReportKind name##_report;
#include "analyze/reports.inc"
#undef REPORT

std::span<const ReportKind* const> report_kinds() {
  static constexpr const ReportKind* kAll[] = {
#define REPORT(name) &name##_report,
#include "analyze/reports.inc"
#undef REPORT
  };
  return kAll;
}

const ReportKind* find_report(std::string_view name) {
  for (const auto* kind : report_kinds())
    if (kind->name == name || (!kind->alias.empty() && kind->alias == name)) return kind;
  return nullptr;
}

}  // namespace clrscope::analyze
