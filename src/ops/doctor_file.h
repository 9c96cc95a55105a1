// Reports of the doctor in one file: the newest, and the visits before it.
//
// A JSON list with one report per line, as the HTML page has it inside. A file that
// `doctor --json >> FILE` makes, one report per line, is read as well.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace clrscope::ops {

struct KeptReport {
  std::string time{};  // ISO 8601
  std::string json{};  // one line
};

constexpr std::size_t kMostKeptReports = 20;

// kCorrupt when the text is not a report.
Result<KeptReport> kept_report(std::string_view json);
// From a JSON or HTML file.
Result<std::vector<KeptReport>> read_kept_reports(const std::string& path);
Result<std::vector<KeptReport>> kept_reports_in(std::string_view text);

// Newest first, each once; no more than kMostKeptReports of the earlier ones.
std::string kept_reports_json(KeptReport newest, std::vector<KeptReport> earlier);

}  // namespace clrscope::ops
