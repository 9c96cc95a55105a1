// The first page: the verdict, then how the process does, then what was kept of it.
#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/processes.h"
#include "http/recording_links.h"
#include "http/report_cards.h"
#include "http/services.h"
#include "ops/examine.h"

namespace clrscope::http {
namespace {

// What one look tells, at no price worth mentioning: no events, no samples, no waiting.
std::vector<std::string> quick_findings() {
  std::vector<std::string> ids;
  for (const auto* finding : doctor::findings()) {
    const auto& needs = finding->needs;
    if (!needs.events && !needs.cpu && needs.least.count() == 0) ids.emplace_back(finding->id);
  }
  return ids;
}

std::string verdict_html(const Call& call, const Process& process) {
  ops::ExamineWish wish{.target = call.services().processes.target(process), .messages = false};
  wish.only = quick_findings();
  wish.duration = std::chrono::nanoseconds{0};
  const auto seen = ops::examine(wish, {});
  const auto doctor = page_link(call, "/doctor", process.pid);
  const auto button = [&](std::string_view words) {
    return has_route(call, "/doctor") ? anchor(doctor, words, "button") : std::string{};
  };
  if (!seen) return trouble(seen.error()) + "<p>" + button("Ask the doctor") + "</p>\n";
  const auto& reports = seen->diagnosis.reports;
  if (reports.empty() || reports.front().severity == doctor::Severity::kInfo) {
    std::size_t not_run = 0;
    for (const auto& one : seen->diagnosis.examined)
      not_run += one.outcome == doctor::Outcome::kNotRun ? 1 : 0;
    return fmt::format(
               "<section class=\"verdict good\">\n<p class=\"lead\">Nothing stands still.</p>\n"
               "<p>One look found no deadlock and no starving pool{}. The doctor looks longer.</p>"
               "\n<p>",
               not_run == 0 ? std::string{}
                            : fmt::format("; {} of {} examinations could not run", not_run,
                                          seen->diagnosis.examined.size())) +
           button("Ask the doctor") + "</p>\n</section>\n";
  }
  const auto& worst = reports.front();
  auto out = fmt::format(
      "<section class=\"verdict {}\">\n<p class=\"lead\">{} <span class=\"dim\">{} · "
      "{}</span></p>\n",
      name_of(worst.severity), html_escaped(worst.title), worst.id, name_of(worst.confidence));
  if (!worst.summary.empty()) out += "<p>" + html_escaped(worst.summary) + "</p>\n";
  if (reports.size() > 1)
    out += fmt::format("<p class=\"dim\">and {} more finding{}</p>\n", reports.size() - 1,
                       reports.size() == 2 ? "" : "s");
  return out + "<p>" + button("Why, and what to do") + " " +
         anchor(page_link(call, "/stacks", process.pid), "See the stacks", "button") +
         "</p>\n</section>\n";
}

std::string tile(std::string_view id, std::string_view title, std::string_view now) {
  return fmt::format(
      "<section class=\"tile\" data-tile=\"{}\"><h2>{}</h2><p class=\"big\">{}</p></section>\n", id,
      title, now);
}

std::string tiles_html(const Call& call, const Process& process) {
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(process.up);
  return fmt::format("<div class=\"tiles\" data-view=\"{}\" data-pid=\"{}\">\n",
                     has_route(call, "/counters") ? "tiles" : "", process.pid) +
         tile("cpu", "CPU",
              process.cpu_percent ? fmt::format("{:.0f} %", *process.cpu_percent) : "?") +
         tile("memory", "Memory", process.rss_bytes ? format_bytes(*process.rss_bytes) : "?") +
         tile("gc", "GC pause", "–") + tile("queue", "Pool queue", "–") +
         "</div>\n<p class=\"dim no-script\">CPU is the mean since it started, " +
         format_uptime(up) + " ago.</p>\n";
}

// What was kept: recordings and reports, side by side.
std::string kept_html(Call& call, const Process& process) {
  std::string out;
  if (auto recordings = recent_recordings(call, 5); !recordings.empty())
    out += "<section>\n<h2>Recordings</h2>\n" + recordings + "</section>\n";
  if (const auto visits = ask_json(call, "/doctor/reports"))
    if (auto list = visits_list(call, *visits, process.pid, 5); !list.empty())
      out += "<section>\n<h2>Reports</h2>\n" + list + "</section>\n";
  return out.empty() ? out : "<div class=\"columns\">\n" + out + "</div>\n";
}

Result<PageContent> about(Call& call, const Process& process) {
  PageContent content{.title = process.name};
  content.main = fmt::format("<h1>{} <span class=\"dim\">{}</span></h1>\n<p class=\"dim\">",
                             html_escaped(process.name), process.pid);
  if (!process.runtime.empty()) content.main += ".NET " + html_escaped(process.runtime) + " · ";
  content.main += format_uptime(std::chrono::duration_cast<std::chrono::seconds>(process.up)) +
                  " up · user " + html_escaped(process.user);
  if (!process.container.empty()) content.main += " · container " + html_escaped(process.container);
  content.main +=
      "</p>\n" + verdict_html(call, process) + tiles_html(call, process) + kept_html(call, process);
  return content;
}

}  // namespace

extern const Page overview_page{.path = "/", .title = "Overview", .about = about, .key = 'o'};

}  // namespace clrscope::http
