#include "ops/doctor_file.h"

#include <algorithm>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace clrscope::ops {

Result<KeptReport> kept_report(std::string_view json) {
  const auto line = trim(json);
  const auto value = TRY(read_json(line));
  const auto* findings = value.find("findings");
  const auto* examined = value.find("examined");
  auto time = text_at(value, "time");
  if (!findings || !findings->array() || !examined || !examined->array() || time.empty())
    return fail(Errc::kCorrupt, "the JSON is not a doctor report");
  return KeptReport{std::move(time), std::string{line}};
}

Result<std::vector<KeptReport>> kept_reports_in(std::string_view text) {
  constexpr std::string_view kBegin = "data-kind=\"doctor\">", kEnd = "</script>";
  if (const auto at = text.find(kBegin); at != std::string_view::npos) {
    text.remove_prefix(at + kBegin.size());
    text = text.substr(0, text.find(kEnd));
  }
  std::vector<KeptReport> reports;
  for (auto line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line == "[" || line == "]") continue;
    if (line.ends_with(',')) line.remove_suffix(1);
    reports.push_back(TRY(kept_report(line)));
  }
  if (reports.empty()) return fail(Errc::kCorrupt, "it contains no doctor report");
  return reports;
}

Result<std::vector<KeptReport>> read_kept_reports(const std::string& path) {
  const auto text = TRY(read_file(path));
  auto reports = kept_reports_in(text);
  if (reports) return reports;
  return fail(Errc::kCorrupt, "{}: {}", path, reports.error().what)
      .hint("give a file that clrscope doctor --json or --format html wrote");
}

std::string kept_reports_json(KeptReport newest, std::vector<KeptReport> earlier) {
  std::ranges::sort(earlier, std::ranges::greater{}, &KeptReport::time);
  std::erase_if(earlier, [&](const KeptReport& one) { return one.json == newest.json; });
  const auto again = std::ranges::unique(earlier, {}, &KeptReport::json);
  earlier.erase(again.begin(), again.end());
  if (earlier.size() > kMostKeptReports) earlier.resize(kMostKeptReports);
  auto all = "[\n" + newest.json;
  for (const auto& one : earlier) all += ",\n" + one.json;
  return all + "\n]";
}

}  // namespace clrscope::ops
