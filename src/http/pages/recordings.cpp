// What was recorded or uploaded and is kept: to look at, to fetch in any format, to remove.
#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "export/format.h"
#include "http/page.h"
#include "http/recording_links.h"

namespace clrscope::http {
namespace {

std::string row_html(const Call& call, const JsonValue& one) {
  const auto cell = [&](std::string_view path, Column::As as, std::string_view css) {
    const auto* value = find_below(one, path);
    return fmt::format("<td{}>{}</td>", css, value ? cell_of(*value, as) : "");
  };
  auto out = "<tr>" + cell("started", Column::As::kTime, "") +
             cell("process.name", Column::As::kWords, "") +
             cell("process.pid", Column::As::kNumber, " class=\"num\"") +
             cell("state", Column::As::kWords, "") + cell("profile", Column::As::kWords, "");
  const auto* ms = one.find("durationMs");
  out += fmt::format("<td class=\"num\">{:.1f} s</td>",
                     ms && ms->number() ? *ms->number() / 1000 : 0.0);
  out += cell("bytes", Column::As::kBytes, " class=\"num\"") +
         cell("events", Column::As::kCount, " class=\"num\"") +
         cell("samples", Column::As::kCount, " class=\"num\"") +
         cell("lost", Column::As::kCount, " class=\"num\"");
  return out + "<td>" + recording_links(call, one) + "</td></tr>\n";
}

Result<PageContent> render(Call& call) {
  const auto kept = TRY(ask_json(call, "/recordings"));
  PageContent content{.title = "Recordings"};
  auto& main = content.main;
  main = "<h1>Recordings</h1>\n<div data-view=\"upload\"></div>\n";
  if (!kept.array() || kept.array()->empty()) {
    main += notice("Nothing is kept here yet.",
                   "Record something, or send a file: curl --data-binary @x.nettrace "
                   "ADDRESS/recordings?name=x.nettrace") +
            "<p>" + anchor(page_link(call, "/record"), "Record", "button") + "</p>\n";
    return content;
  }
  main +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Recordings\">\n<table>\n"
      "<thead><tr><th scope=\"col\">Started</th><th scope=\"col\">Process</th><th scope=\"col\" "
      "class=\"num\">PID</th><th scope=\"col\">State</th><th scope=\"col\">Profile</th><th "
      "scope=\"col\" class=\"num\">Length</th><th scope=\"col\" class=\"num\">Size</th><th "
      "scope=\"col\" class=\"num\">Events</th><th scope=\"col\" class=\"num\">Samples</th><th "
      "scope=\"col\" class=\"num\">Lost</th><th scope=\"col\">Look at it</th></tr></thead>\n"
      "<tbody>\n";
  for (const auto& one : *kept.array()) main += row_html(call, one);
  main += "</tbody>\n</table>\n</div>\n";
  return content;
}

}  // namespace

extern const Page recordings_page{.path = "/recordings",
                                  .title = "Recordings",
                                  .render = render,
                                  .scope = Scope::kTrace,
                                  .key = 'f'};

}  // namespace clrscope::http
