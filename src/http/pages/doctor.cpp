// What is wrong with the process: the last report, the button to look again, the earlier ones.
#include <fmt/format.h>

#include "base/html.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/report_cards.h"

namespace clrscope::http {
namespace {

constexpr int kSeconds = 5;  // enough for most examinations

std::string look_form(const Call& call, const Process& process, std::string_view words) {
  return fmt::format(
      "<form class=\"bar\" method=\"get\" action=\"{}\" data-view=\"doctor\" data-pid=\"{}\">\n"
      "<input type=\"hidden\" name=\"pid\" value=\"{}\">\n<label>Seconds <input type=\"number\" "
      "name=\"durationSeconds\" value=\"{}\" min=\"1\" max=\"600\"></label>\n"
      "<button type=\"submit\" class=\"main\" data-refresh>{}</button>\n"
      "<span class=\"dim\" role=\"status\">It goes on working meanwhile; samples and events cost "
      "it a little CPU.</span>\n</form>\n",
      html_escaped(call.link("/doctor")), process.pid, process.pid, kSeconds, words);
}

// The newest finished report of this process: its id.
std::string last_visit(const JsonValue& visits, pid_t pid) {
  if (!visits.array()) return {};
  for (const auto& visit : *visits.array()) {
    const auto* of = find_below(visit, "process.pid");
    const auto* state = visit.find("state");
    const auto* id = visit.find("id");
    if (of && of->integer() == pid && state && state->text() && *state->text() == "finished" &&
        id && id->text())
      return *id->text();
  }
  return {};
}

Result<PageContent> about(Call& call, const Process& process) {
  PageContent content{.title = fmt::format("Doctor: {}", process.name)};
  auto& main = content.main;
  main = fmt::format("<h1>Doctor: {} ({})</h1>\n", html_escaped(process.name), process.pid);
  if (call.text("durationSeconds")) {  // the form, without a script: look, and show it
    const auto report = TRY(ask_json(call, "/doctor"));
    main += look_form(call, process, "Look again") + report_cards(call, report);
    return content;
  }
  const auto visits = TRY(ask_json(call, "/doctor/reports"));
  const auto last = last_visit(visits, process.pid);
  main += look_form(call, process, last.empty() ? "Look" : "Look again");
  if (last.empty()) {
    main +=
        notice("The doctor has not looked at this process yet.",
               "It looks for deadlocks, long lock holders, convoys, a starving pool, runaway and "
               "zombie threads, exception storms, GC pressure, hot paths and bad settings.");
  } else {
    const auto visit = TRY(ask_json(call, "/doctor/reports/" + last));
    const auto* started = visit.find("started");
    main += "<p>Report of " +
            anchor(page_link(call, "/doctor/reports/" + last, process.pid),
                   started ? cell_of(*started, Column::As::kTime) : last) +
            "</p>\n";
    if (const auto* report = visit.find("report")) main += report_cards(call, *report);
  }
  if (const auto list = visits_list(call, visits, 0, 20); !list.empty())
    main += "<h2>Reports</h2>\n" + list;
  return content;
}

}  // namespace

extern const Page doctor_page{.path = "/doctor", .title = "Doctor", .about = about, .key = 'd'};

}  // namespace clrscope::http
