// What works here, for the process that is chosen or for all: the first thing to look at in a
// container.
#include "http/check.h"

#include <fmt/format.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"

namespace clrscope::http {
namespace {

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
  main +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sources\">\n<table>\n"
      "<thead><tr><th scope=\"col\">Source</th><th scope=\"col\">Works</th>"
      "<th scope=\"col\">Why</th></tr></thead>\n<tbody>\n";
  for (const auto& row : report.rows) {
    main += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td><td>{}", html_escaped(row.source),
                        row.works == ops::Works::kYes ? "good" : "warn", ops::to_string(row.works),
                        html_escaped(row.detail));
    if (!row.hint.empty()) main += "<br><span class=\"dim\">" + html_escaped(row.hint) + "</span>";
    main += "</td></tr>\n";
  }
  main += "</tbody>\n</table>\n</div>\n";
  if (report.rung) main += "<p>" + html_escaped(ops::words_for(*report.rung)) + "</p>\n";
  return content;
}

}  // namespace

extern const Page check_page{.path = "/check", .title = "Check", .render = render};

}  // namespace clrscope::http
