#include "http/shell.h"

#include <unistd.h>

#include "base/html.h"
#include "base/proc.h"
#include "base/text.h"
#include "http/assets.h"
#include "http/markup.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

// With its etag, so that browsers may keep it for ever.
std::string asset_link(const Call& call, std::string_view path) {
  const auto* asset = find_asset(path);
  return html_escaped(
      call.link(fmt::format("/assets/{}?v={}", path, asset ? asset->etag : std::string_view{})));
}

std::string rail_html(const Call& call) {
  std::string out = "<nav class=\"rail\" aria-label=\"Pages\">\n<ul>\n";
  for (const auto* page : pages()) {
    if (!page->in_rail || !call.caller().scopes.has(page->scope)) continue;
    out += "<li><a href=\"" + html_escaped(page_link(call, page->path)) + "\"";
    if (page->path == call.admitted().route->path) out += " aria-current=\"page\"";
    if (page->key != 0) out += fmt::format(" data-key=\"{}\"", page->key);
    out += ">" + html_escaped(page->title) + "</a></li>\n";
  }
  out += "</ul>\n";
  if (call.caller().by_cookie)
    out += "<form class=\"sign-out\" method=\"post\" action=\"" +
           html_escaped(call.link("/sign-out")) +
           "\"><button type=\"submit\">Sign out</button></form>\n";
  return out + "</nav>\n";
}

std::string option_html(const Process& process, bool chosen) {
  return fmt::format("<option value=\"{0}\"{1}>{0} {2}{3}</option>\n", process.pid,
                     chosen ? " selected" : "", html_escaped(process.name),
                     process.reachable() ? "" : " (not reachable)");
}

// A form that asks for this same page, of another process.
std::string picker_html(const Call& call, const std::vector<Process>& processes) {
  const auto path = find_page(call.admitted().route->path) ? call.admitted().route->path : "/";
  const auto pid = call.text("pid");
  std::string out = "<form class=\"picker\" method=\"get\" action=\"" +
                    html_escaped(call.link(path)) +
                    "\">\n<label for=\"picker\">Process</label>\n<select id=\"picker\" "
                    "name=\"pid\" data-submits>\n";
  bool found = false;
  if (!pid && processes.size() != 1) {
    out += processes.empty() ? "<option value=\"\">none is running</option>\n"
                             : "<option value=\"\">choose one</option>\n";
    found = true;
  }
  for (const auto& process : processes) {
    const bool chosen = pid && *pid == std::to_string(process.pid);
    found = found || chosen || processes.size() == 1;
    out += option_html(process, chosen);
  }
  if (!found)
    out += fmt::format("<option value=\"{0}\" selected>{0} (gone)</option>\n", html_escaped(*pid));
  return out + "</select>\n<button type=\"submit\" class=\"no-script\">Go</button>\n</form>\n";
}

std::string strip_html(const Call& call) {
  std::string own;
  if (const auto status = proc_status(::getpid()))
    own = fmt::format("clrscope itself: {}", format_bytes(status->rss_bytes));
  return "<footer class=\"strip\" data-view=\"strip\" data-source=\"" +
         html_escaped(page_link(call, "/status").substr(call.admitted().base_path.size())) +
         "\">\n<span>" + own + "</span>\n</footer>\n";
}

}  // namespace

std::string page_html(const Call& call, const PageContent& content,
                      const std::vector<Process>& processes) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\" data-base=\"" + html_escaped(call.admitted().base_path) +
      "\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      html_escaped(content.title) + " · clrscope</title>\n<link rel=\"icon\" href=\"" +
      asset_link(call, "icon.svg") +
      "\" type=\"image/svg+xml\">\n<link rel=\"stylesheet\" href=\"" +
      asset_link(call, "style.css") + "\">\n<script defer src=\"" + asset_link(call, "app.js") +
      "\"></script>\n" + content.head +
      "</head>\n<body>\n<a class=\"skip\" href=\"#main\">To the content</a>\n"
      "<header class=\"top\">\n<a class=\"brand\" href=\"" +
      html_escaped(page_link(call, "/")) + "\">clrscope</a>\n" + picker_html(call, processes) +
      "<span class=\"tools\"><button type=\"button\" class=\"script\" data-theme-switch>theme"
      "</button> <button type=\"button\" class=\"script\" data-keys aria-label=\"Keys\">?</button>"
      "</span>\n</header>\n<div class=\"frame\">\n" +
      rail_html(call) + "<main id=\"main\" tabindex=\"-1\"";
  if (!content.view.empty()) out += " data-view=\"" + html_escaped(content.view) + "\"";
  out += ">\n" + content.main + "</main>\n</div>\n" + strip_html(call) + "</body>\n</html>\n";
  return out;
}

}  // namespace clrscope::http
