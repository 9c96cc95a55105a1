// Recordings that run right now: who asked for them, how far they are; to stop or to discard.
#include <fmt/format.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"

namespace clrscope::http {
namespace {

Result<PageContent> render(Call& call) {
  const auto sessions = TRY(ask_json(call, "/sessions"));
  PageContent content{.title = "Sessions"};
  auto& main = content.main;
  main = "<h1>Sessions</h1>\n";
  std::string rows;
  for (const auto& one : sessions.array() ? *sessions.array() : JsonValue::Array{}) {
    const auto* running = one.find("running");
    const auto* id = one.find("id");
    if (!running || running->boolean() != true || !id || !id->text()) continue;
    const auto cell = [&](std::string_view path, Column::As as, bool number) {
      const auto* value = find_below(one, path);
      return fmt::format("<td{}>{}</td>", number ? " class=\"num\"" : "",
                         value ? cell_of(*value, as) : "");
    };
    rows += "<tr>" + cell("started", Column::As::kTime, false) +
            cell("process.name", Column::As::kWords, false) +
            cell("process.pid", Column::As::kNumber, true) +
            cell("profile", Column::As::kWords, false) + cell("elapsedMs", Column::As::kMs, true) +
            cell("events", Column::As::kCount, true) + cell("lost", Column::As::kCount, true) +
            cell("leaseLeftSeconds", Column::As::kCount, true) +
            cell("by", Column::As::kWords, false) +
            fmt::format(
                "<td><form method=\"post\" action=\"{}\"><button type=\"submit\" "
                "data-stop-session=\"{}\">Stop</button></form></td></tr>\n",
                html_escaped(call.link("/sessions/" + query_escaped(*id->text()) + "/stop")),
                html_escaped(*id->text()));
  }
  if (rows.empty()) {
    main +=
        notice("No recording runs right now.",
               "Those that have ended are among the recordings. A session that nobody asks about "
               "ends with its lease.");
  } else {
    main +=
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sessions\">\n<table>\n"
        "<thead><tr><th scope=\"col\">Started</th><th scope=\"col\">Process</th><th scope=\"col\" "
        "class=\"num\">PID</th><th scope=\"col\">Profile</th><th scope=\"col\" class=\"num\">"
        "Recorded</th><th scope=\"col\" class=\"num\">Events</th><th scope=\"col\" class=\"num\">"
        "Lost</th><th scope=\"col\" class=\"num\">Lease, s</th><th scope=\"col\">By</th><th "
        "scope=\"col\">Stop: the answer is the trace</th></tr></thead>\n<tbody>\n" +
        rows + "</tbody>\n</table>\n</div>\n";
  }
  main += "<p>" + anchor(page_link(call, "/record"), "Record", "button") + " " +
          anchor(page_link(call, "/recordings"), "Recordings", "button") + "</p>\n";
  return content;
}

}  // namespace

extern const Page sessions_page{
    .path = "/sessions", .title = "Sessions", .render = render, .scope = Scope::kTrace};

}  // namespace clrscope::http
