#include "doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/answer.h"

namespace clrscope::doctor {
namespace {

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

std::string to_json(const Examination& examination) { return json_line(answer_of(examination)); }

std::string registry_json() {
  std::vector<FindingAnswer> all;
  for (const auto* finding : findings()) all.push_back(answer_of(*finding));
  return json_line(all);
}

std::vector<std::string> not_run_lines(const Diagnosis& diagnosis) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> reasons;
  for (const auto& one : diagnosis.examined) {
    if (one.outcome != Outcome::kNotRun) continue;
    auto at = std::ranges::find(reasons, one.reason, &decltype(reasons)::value_type::first);
    if (at == reasons.end()) at = reasons.insert(at, {one.reason, {}});
    at->second.push_back(one.finding->title);
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : reasons)
    lines.push_back(fmt::format("{} ({})", fmt::join(names, ", "), reason));
  return lines;
}

std::string headline(const Examination& examination) {
  const auto& process = examination.process;
  auto text = fmt::format("{} ({})", process.name.empty() ? "process" : process.name, process.pid);
  if (!process.runtime.empty()) text += fmt::format(", .NET {}", process.runtime);
  if (process.up.count() > 0) text += fmt::format(", {} up", format_duration(process.up));
  if (!examination.core.empty()) return text + fmt::format(" · from {}", examination.core);
  text += fmt::format(
      " · watched for {}",
      format_duration(examination.watched.count() > 0 ? examination.watched : examination.took));
  if (examination.snapshots > 0)
    text += fmt::format(", paused for {:.{}f} ms", ms(examination.paused),
                        examination.paused.count() == 0 ? 0 : 1);
  if (const auto& cost = examination.cost)
    text += fmt::format(", used {:.2f} CPUs before and {:.2f} during it", cost->cpus_before,
                        cost->cpus_during);
  return text;
}

}  // namespace clrscope::doctor
