// What works here, for the process that is chosen or for all: the first thing to look at in a
// container.
#include "http/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"

namespace clrscope::http {
namespace {

std::string table(std::string_view what, std::string_view rows) {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}s\">\n<table>\n"
      "<thead><tr><th scope=\"col\">{0}</th><th scope=\"col\">Works</th>"
      "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n{1}</tbody>\n</table>\n</div>\n",
      what, rows);
}

std::string row(std::string_view what, ops::Works works, std::string_view detail,
                std::string_view hint) {
  auto out = fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}", html_escaped(what),
                         works == ops::Works::kYes ? "good" : "warn", ops::to_string(works),
                         html_escaped(detail));
  if (!hint.empty()) out += "<br><span class=\"dim\">" + html_escaped(hint) + "</span>";
  return out + "</td></tr>\n";
}

Result<PageContent> render(Call& call) {
  PageContent content{.title = "Check"};
  const auto report = TRY(check_for(call));
  auto& main = content.main;
  main = "<h1>What works here</h1>\n";
  if (report.process)
    main += fmt::format("<p>{} ({}), .NET {}</p>\n", html_escaped(report.process->name),
                        report.process->pid, html_escaped(report.process->runtime));
  else
    main += "<p>For any process. Choose one to see what works for it.</p>\n";
  std::string rows;
  for (const auto& one : report.rows) rows += row(one.source, one.works, one.detail, one.hint);
  main += table("Source", rows);
  std::string verbs;
  for (const auto& use : report.verbs) {
    auto detail = fmt::format("{}", fmt::join(use.uses, ", "));
    if (!use.detail.empty()) detail += (detail.empty() ? "" : "; ") + use.detail;
    verbs += row(use.verb, use.works, detail, use.hint);
  }
  if (!verbs.empty()) main += "<h2>What each verb uses</h2>\n" + table("Verb", verbs);
  if (report.rung) main += "<p>" + html_escaped(ops::words_for(*report.rung)) + "</p>\n";
  return content;
}

}  // namespace

extern const Page check_page{.path = "/check", .title = "Check", .render = render};

}  // namespace clrscope::http
