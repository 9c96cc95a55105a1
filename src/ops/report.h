// Runs a report on one trace, or on several read as one.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "analyze/report.h"
#include "ops/lines.h"
#include "ops/trace_file.h"
#include "symbols/source_lines.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using analyze::find_report;
using analyze::report_kinds;
using analyze::ReportKind;

struct ReportRequest {
  std::vector<std::string> files;
  const analyze::ReportKind* kind = nullptr;
  analyze::ReportOptions options{};
  LinesOptions lines{};
  // Of these processes only; neither: of all.
  std::vector<pid_t> pids{};
  std::string name{};  // with * and ?
  TraceLimits limits{};
};

// What is missing of the files.
struct ReportLosses {
  OrNull<std::uint64_t> lost{};
  std::uint64_t damaged = 0;
  bool truncated = false;
};
const Shape& shape_of(const ReportLosses*);

struct ReportAnswer {
  std::unique_ptr<SourceLines> lines;  // what the report asks; never null
  std::unique_ptr<analyze::Report> report;
  std::vector<TraceRead> files;

  ReportLosses losses() const;
  std::string json() const;  // one object: the report's members, then those of ReportLosses
};

// What that object holds, under the name of the report's own shape: for its schema.
// Of any kind of report.
const ValueShape& any_report();
const Shape& report_shape(const analyze::ReportKind& kind);

Result<ReportAnswer> make_report(const ReportRequest& request);

}  // namespace clrscope::ops
