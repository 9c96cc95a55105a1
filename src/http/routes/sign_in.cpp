// How a browser signs in: with the one-time address that `serve` prints, or with a key. Both are
// exchanged for a cookie. Who has the unix socket may ask for another word: `clrscope enable`
// prints it.
#include "http/accept.h"
#include "http/access.h"
#include "http/answer.h"
#include "http/origin.h"
#include "http/route.h"
#include "http/services.h"
#include "http/sign_in_page.h"

namespace clrscope::http {
namespace {

HttpResponse go_to(std::string place, std::string cookie) {
  return {.status = 303,
          .type = "",
          .fields = {{"Set-Cookie", std::move(cookie)}, {"Location", std::move(place)}}};
}

// To go on at another address. A redirect would not do: a browser holds back the cookie of who came
// from another site, and forms may lead to this server only.
HttpResponse go_on(std::string_view place) { return html_answer(signed_in_page(place)); }

HttpResponse form(const Call& call, int status, std::string_view next, std::string_view reason) {
  return html_answer(sign_in_page(call.admitted().base_path, next, reason), status);
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

Result<HttpResponse> sign_in(Call& call) {
  const auto word = call.text("once");
  const auto next = own_place(call.text("next").value_or("/"));
  if (!word) return form(call, 200, next, "");
  auto& access = call.services().access;
  if (const auto place = access.safer_place(call.request()); place && access.is_good_word(*word))
    return go_on(*place + call.link(with_word(*word, next)));
  if (auto cookie = access.redeem(*word, call.request(), call.link("/"))) {
    if (!from_foreign_page(call.request(), false)) return go_to(call.link(next), *cookie);
    auto page = go_on(call.link(next));
    page.fields.push_back({"Set-Cookie", std::move(*cookie)});
    return page;
  }
  constexpr std::string_view kUsed = "this address was used already, or is too old";
  const auto accept = accept_of(call.request());
  if (accept && accept->find(kHtml) != std::string::npos) return form(call, 403, next, kUsed);
  return problem(403, kUsed, "start serve again, or send a key: Authorization: Bearer KEY");
}

Result<HttpResponse> by_key(Call& call) {
  // A page of another site could else sign a browser in as somebody of its choice.
  if (!from_own_page(call.request()))
    return problem(403, "this request does not come from a page of this server");
  const net::HttpRequest fields{.query = call.request().body};
  const auto next = own_place(fields.parameter("next").value_or("/"));
  auto& access = call.services().access;
  if (const auto place = access.safer_place(call.request()))
    if (const auto word = access.one_time_word_for(fields.parameter("key").value_or("")))
      return go_on(*place + call.link(with_word(*word, next)));
  auto cookie =
      access.sign_in(fields.parameter("key").value_or(""), call.request(), call.link("/"));
  if (!cookie) {
    if (access.too_many_failures(call.request()))
      return form(call, 429, next, "Too many wrong keys: wait a minute.");
    return form(call, 401, next, "This key is not valid here.");
  }
  return go_to(call.link(next), std::move(*cookie));
}

Result<HttpResponse> sign_out(Call& call) {
  if (!from_own_page(call.request()))
    return problem(403, "this request does not come from a page of this server");
  return go_to(call.link("/sign-in"),
               call.services().access.sign_out(call.request(), call.link("/")));
}

struct OneTimeWord {
  std::string once{}, host{};
};
const Shape& shape_of(const OneTimeWord*) {
  static const auto shape =
      describe<OneTimeWord>("OneTimeWord", "A word that signs a browser in, once",
                            {member<&OneTimeWord::once>("once", "the word"),
                             member<&OneTimeWord::host>("host", "host name for the address")});
  return shape;
}

Result<HttpResponse> new_word(Call& call) {
  if (is_stranger(call.request()))
    return problem(403, "one-time words are made over the unix socket only");
  const auto& access = call.services().access;
  return answer_with(
      OneTimeWord{.once = call.services().access.new_one_time_word(), .host = access.own_name()});
}

constexpr Parameter kParameters[] = {
    {.name = "once", .type = "string", .help = "the word of the address"},
    {.name = "next", .type = "string", .help = "where to go on: a path of this server"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/sign-in",
     .scope = Scope::kOpen,
     .summary = "Exchanges a one-time word for a cookie; without one: the page to sign in",
     .parameters = kParameters,
     .answer = sign_in,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .statuses = "303 403"},
    {.method = "POST",
     .path = "/sign-in",
     .scope = Scope::kMetrics,
     .summary = "Makes a one-time word, for who has the unix socket",
     .types = kJson,
     .answer = new_word,
     .json = value_shape<OneTimeWord>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .statuses = "403",
     .hidden = true},
    {.method = "POST",
     .path = "/sign-in/key",
     .scope = Scope::kOpen,
     .summary = "Exchanges a key for a cookie; the form of the page to sign in",
     .answer = by_key,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .body_limit = 4096,
     .statuses = "303 401 403 429",
     .hidden = true},
    {.method = "POST",
     .path = "/sign-out",
     .scope = Scope::kOpen,
     .summary = "Ends the visit that the cookie is of",
     .answer = sign_out,
     .runs = Runs::kAtOnce,
     .load = Load::kLight,
     .statuses = "303 403"},
};

}  // namespace

extern constexpr Routes sign_in_routes{kRoutes};

}  // namespace clrscope::http
