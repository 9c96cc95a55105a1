// The HTML of an examination. Texts come from the process that was looked at: all are escaped.
#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/html.h"
#include "doctor/examination.h"

namespace clrscope::doctor {
namespace {

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark}
body{font:14px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:0}
section{margin:1.5rem 0;padding:.75rem 1rem;border-left:4px solid #888}
section.error{border-color:#c0392b}section.warning{border-color:#d68910}
section.folded{margin-left:2rem}
code,pre{font:13px/1.5 ui-monospace,monospace}pre{overflow-x:auto;margin:.5rem 0}
.dim{opacity:.7}
)";

std::string evidence_html(const Report& report) {
  std::string out;
  for (const auto& thread : report.threads) {
    out += fmt::format("<p>thread {}{}: {}</p>\n", thread.os_id,
                       thread.name.empty() ? "" : fmt::format(" “{}”", html_escaped(thread.name)),
                       html_escaped(thread.does));
    if (thread.frames.empty()) continue;
    out += "<pre>";
    for (const auto& frame : thread.frames) {
      out += html_escaped(frame.method);
      if (!frame.file.empty()) out += fmt::format("  {}:{}", html_escaped(frame.file), frame.line);
      out += "\n";
    }
    out += "</pre>\n";
  }
  if (!report.details.empty()) {
    out += "<pre>";
    for (const auto& line : report.details) out += html_escaped(line) + "\n";
    out += "</pre>\n";
  }
  if (!report.numbers.empty()) {
    out += "<ul>";
    for (const auto& number : report.numbers)
      out += fmt::format("<li>{}</li>", html_escaped(number.words));
    out += "</ul>\n";
  }
  return out;
}

std::string report_html(const Report& report) {
  auto out = fmt::format(
      "<section class=\"{}{}\" id=\"{}\">\n<h2>{} {} <span class=\"dim\">{}</span></h2>\n",
      name_of(report.severity), report.folded() ? " folded" : "", report.id, report.id,
      html_escaped(report.title), name_of(report.confidence));
  if (!report.because_of.empty())
    out += fmt::format("<p>because of <a href=\"#{0}\">{0}</a></p>\n", report.because_of);
  if (!report.part_of.empty())
    out += fmt::format("<p>part of <a href=\"#{0}\">{0}</a></p>\n", report.part_of);
  if (!report.summary.empty()) out += fmt::format("<p>{}</p>\n", html_escaped(report.summary));
  out += evidence_html(report);
  if (!report.advice.empty())
    out += fmt::format("<p><strong>Do:</strong> {}</p>\n", html_escaped(report.advice));
  return out +
         fmt::format("<p class=\"dim\">clrscope doctor --explain {}</p>\n</section>\n", report.id);
}

}  // namespace

std::string to_html(const Examination& examination) {
  const auto& diagnosis = examination.diagnosis;
  const auto title = html_escaped(headline(examination));
  auto out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style></head><body>\n<h1>{}</h1>\n"
      "<p class=\"dim\">{}</p>\n",
      title, kStyle, title,
      iso8601(std::chrono::time_point_cast<std::chrono::nanoseconds>(examination.taken)));
  if (diagnosis.reports.empty()) out += "<p>Nothing found.</p>\n";
  for (const auto& report : diagnosis.reports) out += report_html(report);
  const auto nothing =
      std::ranges::count(diagnosis.examined, Outcome::kNothing, &Examined::outcome);
  out += fmt::format("<p>{} examination{} found nothing.</p>\n", nothing, nothing == 1 ? "" : "s");
  for (const auto& line : not_run_lines(diagnosis))
    out += fmt::format("<p>Could not run: {}</p>\n", html_escaped(line));
  for (const auto& note : examination.notes)
    out += fmt::format("<p class=\"dim\">{}</p>\n", html_escaped(note));
  return out + "</body></html>\n";
}

}  // namespace clrscope::doctor
