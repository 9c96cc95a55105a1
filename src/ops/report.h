// Answers a question about one trace or several, read as if they were one.
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

struct ReportWish {
  std::vector<std::string> files;
  const analyze::ReportKind* kind = nullptr;
  analyze::ReportOptions options{};
  LinesWish lines{};
  // Of these processes only; neither: of all.
  std::vector<pid_t> pids{};
  std::string name{};  // with * and ?
  TraceLimits limits{};
};

struct ReportAnswer {
  std::unique_ptr<SourceLines> lines;  // what the report asks; never null
  std::unique_ptr<analyze::Report> report;
  std::vector<TraceRead> files;

  std::string json() const;  // one object: the report's members, then lost, damaged, truncated
};

Result<ReportAnswer> make_report(const ReportWish& wish);

}  // namespace clrscope::ops
