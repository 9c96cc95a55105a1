// The routes, for people: made from the tables that openapi.json is made from.
#include <algorithm>

#include "base/html.h"
#include "base/text.h"
#include "http/markup.h"
#include "http/page.h"
#include "http/router.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<PageContent> render(Call& call) {
  PageContent content{.title = "API"};
  auto& main = content.main;
  main =
      "<h1>API</h1>\n<p>Every page is a route: ask it with <code>Accept: "
      "application/json</code>. " +
      anchor(call.link("/openapi.json"), "openapi.json") +
      " describes all of them. Scripts send <code>Authorization: Bearer KEY</code>; "
      "<code>clrscope key create</code> makes one.</p>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Routes\">\n<table>\n"
      "<thead><tr><th scope=\"col\">Route</th><th scope=\"col\">What it answers</th>"
      "<th scope=\"col\">Scope</th><th scope=\"col\">Parameters</th></tr></thead>\n<tbody>\n";
  std::vector<const Route*> routes;
  for (const auto* route : call.services().router.routes())
    if (!route->hidden) routes.push_back(route);
  std::ranges::stable_sort(routes, {}, &Route::path);
  for (const auto* route : routes) {
    main += "<tr><td class=\"code\">" + html_escaped(route->method) + " " +
            html_escaped(route->path) + "</td><td>" + html_escaped(route->summary) + "</td><td>" +
            html_escaped(name_of(route->scope)) + "</td><td class=\"code\">";
    for (const auto& one : route->parameters)
      main +=
          "<span title=\"" + html_escaped(one.help) + "\">" + html_escaped(one.name) + "</span> ";
    main += "</td></tr>\n";
  }
  main += "</tbody>\n</table>\n</div>\n";
  return content;
}

}  // namespace

extern const Page api_page{.path = "/api", .title = "API", .render = render};

}  // namespace clrscope::http
