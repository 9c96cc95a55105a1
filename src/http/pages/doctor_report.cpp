// One report of the doctor, to keep and to share; what changed since the one before.
#include <fmt/format.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/report_cards.h"

namespace clrscope::http {
namespace {

std::string text_of(const JsonValue& value, std::string_view path) {
  const auto* found = find_below(value, path);
  return found && found->text() ? *found->text() : std::string{};
}

// The finished report of the same process before this one; the list has the newest first.
std::string visit_before(const JsonValue& visits, const std::string& id) {
  if (!visits.array()) return {};
  std::optional<std::int64_t> pid;
  for (const auto& visit : *visits.array()) {
    const auto* of = find_below(visit, "process.pid");
    if (text_of(visit, "id") == id)
      pid = of ? of->integer() : std::nullopt;
    else if (pid && of && of->integer() == pid && text_of(visit, "state") == "finished")
      return text_of(visit, "id");
  }
  return {};
}

Result<PageContent> render(Call& call) {
  const auto id = call.path_value("id");
  const auto path = "/doctor/reports/" + id;
  const auto visit = TRY(ask_json(call, path));
  const auto name = text_of(visit, "process.name");
  const auto* started = visit.find("started");
  const auto when = started ? cell_of(*started, Column::As::kTime) : std::string{};
  PageContent content{.title = fmt::format("Report on {}", name)};
  auto& main = content.main;
  main = "<h1>Report on " + html_escaped(name) + "</h1>\n<p class=\"dim\">" + when + " UTC · " +
         html_escaped(text_of(visit, "process.runtime")) + "</p>\n<p class=\"bar\">" +
         anchor(page_link(call, "/doctor"), "Look again", "button") +
         " <button type=\"button\" class=\"script\" data-copy-link>Copy the link</button></p>\n";
  const auto* report = visit.find("report");
  if (!report) {
    main += fmt::format("<div data-view=\"visit\" data-source=\"{}\">\n", html_escaped(path)) +
            notice(text_of(visit, "state") == "running"
                       ? "The doctor is looking."
                       : "There is no report: " + text_of(visit, "state") + " " +
                             text_of(visit, "error"),
                   text_of(visit, "state") == "running" ? "Reload in a moment." : "Look again.") +
            "</div>\n";
    return content;
  }
  const auto visits = TRY(ask_json(call, "/doctor/reports"));
  if (const auto before = visit_before(visits, id); !before.empty()) {
    const auto earlier = ask_json(call, "/doctor/reports/" + before);
    const auto* compared = earlier ? earlier->find("report") : nullptr;
    if (compared) {
      const auto changes = report_changes(*compared, *report);
      main += "<section class=\"note\">\n<p>Since the " +
              anchor(page_link(call, "/doctor/reports/" + before), "report before") +
              (changes.empty() ? " nothing changed.</p>\n" : ":</p>\n" + changes) + "</section>\n";
    }
  }
  main += report_cards(call, *report);
  return content;
}

}  // namespace

extern const Page doctor_report_page{
    .path = "/doctor/reports/{id}", .title = "Report", .render = render, .in_rail = false};

}  // namespace clrscope::http
