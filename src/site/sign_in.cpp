#include "site/sign_in.h"

#include <fmt/format.h>

#include "site/accept.h"
#include "site/answer.h"
#include "site/origin.h"
#include "site/sign_in_page.h"

namespace clrscope::site {
namespace {

using net::HttpRequest;
using net::HttpResponse;

HttpResponse go_to(std::string place, std::string cookie) {
  return {.status = 303,
          .type = "",
          .fields = {{"Set-Cookie", std::move(cookie)}, {"Location", std::move(place)}}};
}

// To go on at another address. A redirect would not do: a browser holds back the cookie of who came
// from another site, and forms may lead to this server only.
HttpResponse go_on(std::string_view place) { return html_answer(signed_in_page(place)); }

HttpResponse form(const Visits& visits, std::string_view base_path, int status,
                  std::string_view next, std::string_view reason) {
  return html_answer(sign_in_page(visits.setting(), base_path, next, reason), status);
}

// A value as a query part has it: letters and digits stay, the rest is %XX.
std::string query_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string with_word(std::string_view word, std::string_view next) {
  return fmt::format("/sign-in?once={}&next={}", word, query_escaped(next));
}

std::string link(std::string_view base_path, std::string_view path) {
  return std::string{base_path}.append(path);
}

HttpResponse foreign() {
  return problem(403, "this request does not come from a page of this server");
}

}  // namespace

HttpResponse sign_in(Visits& visits, const HttpRequest& request, std::string_view base_path) {
  const auto word = request.parameter("once");
  const auto next = own_place(request.parameter("next").value_or("/"));
  if (!word) return form(visits, base_path, 200, next, "");
  if (const auto place = visits.safer_place(request); place && visits.is_good_word(*word))
    return go_on(*place + link(base_path, with_word(*word, next)));
  if (auto cookie = visits.redeem(*word, request, link(base_path, "/"))) {
    if (!from_foreign_page(request, false)) return go_to(link(base_path, next), *cookie);
    auto page = go_on(link(base_path, next));
    page.fields.push_back({"Set-Cookie", std::move(*cookie)});
    return page;
  }
  constexpr std::string_view kUsed = "this address was used already, or is too old";
  const auto accept = accept_of(request);
  if (accept && accept->find(kHtml) != std::string::npos)
    return form(visits, base_path, 403, next, kUsed);
  return problem(403, kUsed,
                 fmt::format("start serve again, or send a {}: Authorization: Bearer {}",
                             visits.setting().key_word, visits.setting().key_word));
}

HttpResponse sign_in_by_key(Visits& visits, const HttpRequest& request,
                            std::string_view base_path) {
  // A page of another site could else sign a browser in as somebody of its choice.
  if (!from_own_page(request)) return foreign();
  const HttpRequest fields{.query = request.body};
  const auto next = own_place(fields.parameter("next").value_or("/"));
  const auto key = fields.parameter("key").value_or("");
  if (const auto place = visits.safer_place(request))
    if (const auto word = visits.one_time_word_for(key))
      return go_on(*place + link(base_path, with_word(*word, next)));
  auto cookie = visits.sign_in(key, request, link(base_path, "/"));
  if (cookie) return go_to(link(base_path, next), std::move(*cookie));
  const auto word = visits.setting().key_word;
  if (visits.too_many_failures(request))
    return form(visits, base_path, 429, next,
                fmt::format("Too many wrong {}s: wait a minute.", word));
  return form(visits, base_path, 401, next, fmt::format("This {} is not valid here.", word));
}

HttpResponse sign_out(Visits& visits, const HttpRequest& request, std::string_view base_path) {
  if (!from_own_page(request)) return foreign();
  return go_to(link(base_path, "/sign-in"), visits.sign_out(request, link(base_path, "/")));
}

HttpResponse refusal_page(const Visits& visits, const HttpRequest& head, std::string_view base_path,
                          std::string_view target, HttpResponse refusal) {
  if (refusal.status != 401 || (head.method != "GET" && head.method != "HEAD")) return refusal;
  const auto accept = accept_of(head);
  if (!accept || accept->find(kHtml) == std::string_view::npos) return refusal;
  auto page = form(visits, base_path, 401, own_place(target), "");
  for (auto& field : refusal.fields) page.fields.push_back(std::move(field));
  return page;
}

}  // namespace clrscope::site
