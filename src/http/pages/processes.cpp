// All processes: who they are, how they do, which cannot be reached and why.
#include "http/processes.h"

#include <fmt/format.h>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

std::string row_html(const Call& call, const Process& process) {
  auto out = fmt::format("<tr><td class=\"num\">{}</td><td>", process.pid);
  out += process.reachable() ? anchor(page_link(call, "/", process.pid), process.name)
                             : html_escaped(process.name);
  out += fmt::format(
      "</td><td>{}</td><td>{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
      "<td class=\"num\">{}</td><td>",
      html_escaped(process.user), html_escaped(process.runtime.empty() ? "?" : process.runtime),
      format_uptime(std::chrono::duration_cast<std::chrono::seconds>(process.up)),
      process.cpu_percent ? fmt::format("{:.0f} %", *process.cpu_percent) : "?",
      process.rss_bytes ? format_bytes(*process.rss_bytes) : "?");
  if (!process.reachable()) {
    out += "<span class=\"warn\">not reachable: " + html_escaped(process.reason) + "</span>";
    if (!process.hint.empty())
      out += "<br><span class=\"dim\">" + html_escaped(process.hint) + "</span>";
  } else if (!process.container.empty()) {
    out += html_escaped("container " + process.container);
  }
  return out + "</td><td class=\"code\">" + html_escaped(process.command_line) + "</td></tr>\n";
}

Result<PageContent> render(Call& call) {
  PageContent content{.title = "Processes"};
  const auto found = TRY(call.services().processes.list());
  auto& main = content.main;
  main = "<h1>Processes</h1>\n";
  if (found.empty()) {
    main += notice("No .NET process runs here that may be seen.",
                   "Start one: it is listed as soon as its runtime is up. Processes of other users "
                   "are seen by root, those of other containers from the host.");
    return content;
  }
  main +=
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Processes\">\n"
      "<table>\n<thead><tr><th scope=\"col\" class=\"num\">PID</th><th scope=\"col\">Name</th>"
      "<th scope=\"col\">User</th><th scope=\"col\">.NET</th><th scope=\"col\" class=\"num\">Up"
      "</th><th scope=\"col\" class=\"num\">CPU since start</th><th scope=\"col\" class=\"num\">"
      "Memory</th><th scope=\"col\">Where</th><th scope=\"col\">Command</th></tr></thead>\n"
      "<tbody>\n";
  for (const auto& process : found) main += row_html(call, process);
  main += "</tbody>\n</table>\n</div>\n";
  return content;
}

}  // namespace

extern const Page processes_page{
    .path = "/processes", .title = "Processes", .render = render, .key = 'p'};

}  // namespace clrscope::http
