#include "http/shell.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "http/router.h"
#include "site/accept.h"
#include "site/answer.h"
#include "site/sign_in_page.h"
#include "site/template.h"

namespace clrscope::http {
namespace {

HttpResponse shell(const Call& call, int status) {
  const auto& admitted = call.admitted();
  const Mark marks[] = {{"base", admitted.base_path},
                        {"server", "controller"},
                        {"version", CLRSCOPE_VERSION},
                        {"text", admitted.text_link}};
  return html_answer(page_from("index.html", marks), status);
}

constexpr Route kShell{
    .method = "GET",
    .path = "/",
    .scope = Scope::kOpen,
    .summary = "A page of the web app",
    .types = kHtml,
    .answer = [](Call& call) -> Result<HttpResponse> { return shell(call, 200); },
    .runs = Runs::kAtOnce,
    .load = Load::kLight,
    .hidden = true};

constexpr Route kNotFound{
    .method = "GET",
    .path = "/",
    .scope = Scope::kOpen,
    .summary = "An address that does not exist",
    .types = kHtml,
    .answer = [](Call& call) -> Result<HttpResponse> { return shell(call, 404); },
    .runs = Runs::kAtOnce,
    .load = Load::kLight,
    .hidden = true};

std::vector<Route> page_routes() {
  return {
#define PAGE(address) \
  Route{.method = "GET", .path = address, .summary = "", .answer = kShell.answer},
#define FLEET_PAGE(address)
#include <pages.inc>
#undef FLEET_PAGE
#undef PAGE
  };
}

bool offers(const Route& route, std::string_view type) {
  const auto types = split(route.types, ' ');
  return std::ranges::find(types, type) != types.end();
}

// "/stacks?pid=7&accept=text/html" asked for another type.
std::string with_accept(std::string_view target, std::string_view type) {
  const auto mark = target.find('?');
  std::string out{target.substr(0, mark)};
  char before = '?';
  if (mark != std::string_view::npos)
    for (const auto part : split(target.substr(mark + 1), '&')) {
      if (part.empty() || part.substr(0, part.find('=')) == "accept") continue;
      out.append(1, before).append(part);
      before = '&';
    }
  return out.append(1, before).append("accept=").append(type);
}

}  // namespace

bool is_page(std::string_view path) {
  static const auto routes = page_routes();
  static const Routes groups[] = {routes};
  static const Router router{groups};
  return router.find("GET", path).route != nullptr;
}

const Route* shell_route(std::string_view path, const Route* data,
                         const std::optional<std::string>& accept) {
  if (is_page(path)) return prefers_html(data ? data->types : "", accept) ? &kShell : nullptr;
  return !data && prefers_html(kJson, accept) ? &kNotFound : nullptr;
}

namespace {

std::string pid_in(std::string_view target) {
  const auto mark = target.find('?');
  if (mark != std::string_view::npos)
    for (const auto part : split(target.substr(mark + 1), '&'))
      if (part.starts_with("pid="))
        if (const auto pid = parse_number(part.substr(4))) return std::to_string(*pid);
  return {};
}

// The route that shows a page without a text of its own as text; empty: none.
std::string text_instead(std::string_view target) {
  const auto path = target.substr(0, target.find('?'));
  const auto pid = pid_in(target);
  if (path == "/overview" || path == "/agent") return pid.empty() ? "/watch" : "/watch/" + pid;
  if (path == "/record") return "/sessions";
  if (path == "/api") return "/openapi.json";
  if (path == "/flame" && target.find("recording=") == std::string_view::npos) return "/recordings";
  if (path.starts_with("/recordings/") && path.ends_with("/requests"))
    return std::string{path.substr(0, path.rfind('/'))} + "/report/requests";
  return path == "/" ? "/watch" : "";
}

}  // namespace

std::string text_link(std::string_view base_path, std::string_view target, const Route* data) {
  const std::string base{base_path};
  const auto place = own_place(target);
  if (const auto instead = text_instead(place); !instead.empty())
    return base + with_accept(instead, kText);
  for (const auto type : {kText, kJson})
    if (data && offers(*data, type)) return base + with_accept(place, type);
  return base + with_accept("/watch", kText);
}

}  // namespace clrscope::http
