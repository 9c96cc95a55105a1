#include "http/report_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"

namespace clrscope::http {
namespace {

std::string text_of(const JsonValue& value, std::string_view path) {
  const auto* found = find_below(value, path);
  return found && found->text() ? *found->text() : std::string{};
}

std::int64_t number_of(const JsonValue& value, std::string_view path) {
  const auto* found = find_below(value, path);
  const auto number = found ? found->number() : std::nullopt;
  return number ? static_cast<std::int64_t>(*number) : 0;
}

const JsonValue::Array& items_of(const JsonValue& value, std::string_view path) {
  static const JsonValue::Array kNone;
  const auto* found = find_below(value, path);
  return found && found->array() ? *found->array() : kNone;
}

std::string frames_html(const JsonValue& thread) {
  std::string out;
  for (const auto& frame : items_of(thread, "frames")) {
    out += html_escaped(text_of(frame, "method"));
    if (const auto file = text_of(frame, "file"); !file.empty())
      out += fmt::format("  {}:{}", html_escaped(file.substr(file.find_last_of('/') + 1)),
                         number_of(frame, "line"));
    out += "\n";
  }
  return out.empty() ? out : "<pre tabindex=\"0\">" + out + "</pre>\n";
}

std::string evidence_html(const Call& call, const JsonValue& finding) {
  std::string out;
  for (const auto& thread : items_of(finding, "evidence.threads")) {
    const auto id = number_of(thread, "osId");
    out += "<p>" + anchor(page_link(call, "/stacks") + fmt::format("#t{}", id),
                          fmt::format("thread {}", id));
    if (const auto name = text_of(thread, "name"); !name.empty())
      out += " “" + html_escaped(name) + "”";
    out += " " + html_escaped(text_of(thread, "does")) + "</p>\n" + frames_html(thread);
  }
  std::string lines;
  for (const auto& line : items_of(finding, "evidence.details"))
    if (line.text()) lines += html_escaped(*line.text()) + "\n";
  if (!lines.empty()) out += "<pre tabindex=\"0\">" + lines + "</pre>\n";
  std::string numbers;
  for (const auto& number : items_of(finding, "evidence.numbers"))
    numbers += "<li>" + html_escaped(text_of(number, "text")) + "</li>\n";
  if (!numbers.empty()) out += "<ul>\n" + numbers + "</ul>\n";
  return out;
}

std::string card_html(const Call& call, const JsonValue& finding, bool open) {
  const auto id = html_escaped(text_of(finding, "id"));
  const auto because = text_of(finding, "becauseOf");
  const auto part = text_of(finding, "partOf");
  auto out = fmt::format(
      "<section class=\"card {}{}\" id=\"{}\">\n<h2>{} <span class=\"dim\">{} · {} · "
      "{}</span></h2>\n",
      html_escaped(text_of(finding, "severity")), because.empty() && part.empty() ? "" : " folded",
      id, html_escaped(text_of(finding, "title")), id, html_escaped(text_of(finding, "severity")),
      html_escaped(text_of(finding, "confidence")));
  if (!because.empty())
    out += "<p>because of " + anchor("#" + because, because) + "</p>\n";
  else if (!part.empty())
    out += "<p>part of " + anchor("#" + part, part) + "</p>\n";
  if (const auto summary = text_of(finding, "summary"); !summary.empty())
    out += "<p>" + html_escaped(summary) + "</p>\n";
  if (const auto evidence = evidence_html(call, finding); !evidence.empty())
    out += fmt::format("<details{}>\n<summary>Evidence</summary>\n{}</details>\n",
                       open ? " open" : "", evidence);
  if (const auto advice = text_of(finding, "advice"); !advice.empty())
    out += "<p><b>Do:</b> " + html_escaped(advice) +
           " <button type=\"button\" class=\"script\" data-copy-text=\"" + html_escaped(advice) +
           "\">Copy</button></p>\n";
  return out + "</section>\n";
}

// What could not run, with the same reason together.
std::string not_run_html(const JsonValue& report) {
  std::map<std::string, std::string> by_reason;
  std::size_t nothing = 0;
  for (const auto& one : items_of(report, "examined")) {
    const auto outcome = text_of(one, "outcome");
    if (outcome == "nothing") ++nothing;
    if (outcome != "notRun") continue;
    auto& names = by_reason[text_of(one, "reason")];
    names += (names.empty() ? "" : ", ") + text_of(one, "name");
  }
  auto out =
      fmt::format("<p>{} examination{} found nothing.</p>\n", nothing, nothing == 1 ? "" : "s");
  for (const auto& [reason, names] : by_reason)
    out += "<p class=\"dim\">Could not run: " + html_escaped(names) + " (" + html_escaped(reason) +
           ")</p>\n";
  return out;
}

std::map<std::string, std::string> titles_of(const JsonValue& report) {
  std::map<std::string, std::string> out;
  for (const auto& one : items_of(report, "findings"))
    out.emplace(text_of(one, "id"), text_of(one, "title"));
  return out;
}

}  // namespace

std::string report_cards(const Call& call, const JsonValue& report) {
  std::string out;
  const auto& findings = items_of(report, "findings");
  if (findings.empty())
    out +=
        "<section class=\"verdict good\">\n<p class=\"lead\">Nothing was found.</p>\n</section>\n";
  bool first = true;
  for (const auto& one : findings) out += card_html(call, one, std::exchange(first, false));
  out += not_run_html(report);
  for (const auto& note : items_of(report, "notes"))
    if (note.text()) out += "<p class=\"dim\">" + html_escaped(*note.text()) + "</p>\n";
  return out;
}

std::string report_changes(const JsonValue& earlier, const JsonValue& later) {
  const auto before = titles_of(earlier);
  const auto after = titles_of(later);
  std::string out;
  for (const auto& [id, title] : after)
    if (!before.contains(id)) out += "<li>new: " + anchor("#" + id, id + " " + title) + "</li>\n";
  for (const auto& [id, title] : before)
    if (!after.contains(id)) out += "<li>gone: " + html_escaped(id + " " + title) + "</li>\n";
  return out.empty() ? out : "<ul>\n" + out + "</ul>\n";
}

std::string visits_list(const Call& call, const JsonValue& visits, std::int64_t pid,
                        std::size_t most) {
  std::string out;
  for (const auto& visit : visits.array() ? *visits.array() : JsonValue::Array{}) {
    if (pid != 0 && number_of(visit, "process.pid") != pid) continue;
    if (most-- == 0) break;
    const auto verdict = text_of(visit, "verdict");
    const auto state = text_of(visit, "state");
    const auto words = state == "running"    ? std::string{"is looking"}
                       : state != "finished" ? state
                       : verdict.empty()     ? std::string{"nothing was found"}
                                             : verdict;
    const auto* started = visit.find("started");
    out += "<li>" +
           anchor(page_link(call, "/doctor/reports/" + query_escaped(text_of(visit, "id"))),
                  started ? cell_of(*started, Column::As::kTime) : "?") +
           " " + html_escaped(text_of(visit, "process.name")) +
           fmt::format(" ({}): ", number_of(visit, "process.pid")) + html_escaped(words) +
           "</li>\n";
  }
  return out.empty() ? out : "<ul class=\"list\">\n" + out + "</ul>\n";
}

}  // namespace clrscope::http
