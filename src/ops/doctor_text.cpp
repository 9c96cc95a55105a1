#include "ops/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "ops/page_text.h"

namespace clrscope::ops {
namespace {

using doctor::Report;
using doctor::Severity;

constexpr std::size_t kIndent = 4;

Tone tone_of(Severity severity) {
  return severity == Severity::kError     ? Tone::kHarm
         : severity == Severity::kWarning ? Tone::kWarning
                                          : Tone::kPlain;
}
std::string_view sign_of(Severity severity) {
  return severity == Severity::kError ? "✖" : severity == Severity::kWarning ? "⚠" : "·";
}

std::string painted(const TextStyle& style, Tone tone, std::string_view text) {
  return style.paint ? style.paint(tone, text) : std::string{text};
}

// The title, and at the right how sure it is.
std::string title_line(const Report& report, const TextStyle& style, std::size_t width) {
  const auto text =
      fmt::format("{} {} {}", sign_of(report.severity), report.id, printable(report.title));
  const auto sure = name_of(report.confidence);
  auto lines = wrapped(text, width - sure.size() - 4, 0);
  lines.pop_back();
  for (auto at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1))
    lines.insert(at + 1, "  ");
  const auto last = lines.substr(lines.rfind('\n') + 1);  // npos + 1 is 0
  const auto room = width - std::min(width, display_width(last) + sure.size());
  return painted(style, tone_of(report.severity), lines) +
         std::string(std::max<std::size_t>(room, 2), ' ') + painted(style, Tone::kDim, sure) + "\n";
}

std::string frame_lines(const std::vector<doctor::ShownFrame>& frames, std::size_t width) {
  std::string out;
  for (const auto& frame : frames) {
    std::string place;
    if (!frame.file.empty())
      place = fmt::format("  {}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
    const auto room = width - std::min(width, 2 * kIndent + display_width(place));
    out += fmt::format("{:8}{}{}\n", "", shorten_name(printable(frame.method), room),
                       printable(place));
  }
  return out;
}

std::string report_text(const Report& report, const TextStyle& style, std::size_t width) {
  auto out = title_line(report, style, width);
  const auto paragraph = [&](std::string_view text) { out += wrapped(text, width, kIndent); };
  if (!report.because_of.empty()) paragraph(fmt::format("because of {}", report.because_of));
  if (!report.part_of.empty())
    paragraph(fmt::format("part of {}: the same threads", report.part_of));
  for (const auto& thread : report.threads) {
    if (report.folded()) break;
    auto line = thread.os_id == 0 ? std::string{} : fmt::format("thread {}", thread.os_id);
    if (!thread.name.empty()) line += fmt::format(" \"{}\"", printable(thread.name));
    if (!thread.does.empty())
      line += fmt::format("{}{}", line.empty() ? "" : "  ", printable(thread.does));
    out += wrapped(line, width, kIndent) + frame_lines(thread.frames, width);
  }
  if (!report.summary.empty()) paragraph(printable(report.summary));
  for (const auto& line : report.details)
    if (!report.folded())
      out += fmt::format("{:4}{}\n", "", cut_to_width(printable(line), width - kIndent));
  if (!report.folded())
    paragraph(fmt::format("Do: {}. More: clrscope doctor --explain {}", printable(report.advice),
                          report.id));
  return out + "\n";
}

std::string last_lines(const doctor::Diagnosis& diagnosis, std::size_t width) {
  const auto nothing =
      std::ranges::count(diagnosis.examined, doctor::Outcome::kNothing, &doctor::Examined::outcome);
  const auto not_run =
      std::ranges::count(diagnosis.examined, doctor::Outcome::kNotRun, &doctor::Examined::outcome);
  std::string out;
  if (nothing > 0)
    out = fmt::format("{} examination{} found nothing.", nothing, nothing == 1 ? "" : "s");
  if (not_run > 0) out += fmt::format("{}{} could not run:", out.empty() ? "" : " ", not_run);
  if (!out.empty()) out += "\n";
  for (const auto& line : not_run_lines(diagnosis)) out += wrapped(printable(line), width, 2);
  return out;
}

}  // namespace

std::string doctor_text(const doctor::Examination& examination, const TextStyle& style) {
  const auto width = std::clamp<std::size_t>(style.width, 40, kPageWidth);
  auto out = wrapped(printable(headline(examination)), width) + "\n";
  if (examination.diagnosis.reports.empty())
    out +=
        std::ranges::any_of(examination.diagnosis.examined,
                            [](const auto& one) { return one.outcome == doctor::Outcome::kNotRun; })
            ? "Nothing found. What could not be examined stands below.\n\n"
            : "Nothing found.\n\n";
  for (const auto& report : examination.diagnosis.reports) out += report_text(report, style, width);
  out += last_lines(examination.diagnosis, width);
  for (const auto& note : examination.notes) out += wrapped(printable(note), width);
  return out;
}

std::string round_text(const Round& round, const TextStyle& style) {
  const auto width = std::clamp<std::size_t>(style.width, 40, kPageWidth);
  const auto all = round.examined.size() + round.skipped.size();
  auto out =
      fmt::format("{} of {} .NET process{} examined in {:.1f} s\n\n", round.examined.size(), all,
                  all == 1 ? "" : "es", std::chrono::duration<double>(round.took).count());
  std::vector<std::string> healthy;
  for (const auto& one : round.examined) {
    const auto& reports = one.diagnosis.reports;
    auto who = fmt::format("{} ({})", printable(one.process.name), one.process.pid);
    if (reports.empty()) {
      healthy.push_back(std::move(who));
      continue;
    }
    out += who + "\n" + title_line(reports.front(), style, width);
    if (reports.size() > 1)
      out += fmt::format("{:4}{} more: clrscope doctor -p {}\n", "", reports.size() - 1,
                         one.process.pid);
  }
  if (healthy.size() < round.examined.size()) out += "\n";
  if (!healthy.empty())
    out += wrapped(fmt::format("Nothing found: {}", fmt::join(healthy, ", ")), width);
  for (const auto& one : round.skipped)
    out += wrapped(fmt::format("Not examined: {} ({}): {}", printable(one.name), one.pid,
                               printable(one.reason)),
                   width);
  return out;
}

std::string registry_text(std::size_t width) {
  width = std::clamp<std::size_t>(width, 40, kPageWidth);
  std::string out;
  for (const auto* finding : doctor::findings()) {
    out += fmt::format("{}  {}\n", finding->id, finding->title);
    out += wrapped(finding->description, width, kIndent);
    out += wrapped(fmt::format("price: {}", finding->price), width, kIndent);
    out += wrapped(fmt::format("needs: {}{}", finding->rights,
                               finding->needs.least.count() > 0
                                   ? fmt::format("; {} s or more", finding->needs.least.count())
                                   : ""),
                   width, kIndent);
    for (const auto& parameter : finding->parameters)
      out += wrapped(fmt::format("--set {}.{}={}: {}", finding->id, parameter.name, parameter.value,
                                 parameter.meaning),
                     width, kIndent);
    out += "\n";
  }
  return out;
}

}  // namespace clrscope::ops
