// The one-time address that `serve` prints: exchanges its word for a cookie. Who has the unix
// socket may ask for another word: `clrscope enable` prints it.
#include "base/json.h"
#include "http/access.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> sign_in(Call& call) {
  const auto word = call.text("once");
  const auto cookie = word ? call.services().access.redeem(*word, call.link("/")) : std::nullopt;
  if (!cookie)
    return problem(403, "this address was used already, or is too old",
                   "start serve again, or send a key: Authorization: Bearer KEY");
  return HttpResponse{
      .status = 303, .type = "", .fields = {{"Set-Cookie", *cookie}, {"Location", call.link("/")}}};
}

Result<HttpResponse> new_word(Call& call) {
  if (is_stranger(call.request()))
    return problem(403, "one-time words are made over the unix socket only");
  JsonWriter json;
  json.begin_object().member("once", call.services().access.new_one_time_word()).end_object();
  return json_answer(std::move(json).take());
}

constexpr Parameter kParameters[] = {
    {.name = "once", .type = "string", .help = "the word of the address"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/sign-in",
     .scope = Scope::kOpen,
     .summary = "Exchanges a one-time word for a cookie",
     .parameters = kParameters,
     .answer = sign_in,
     .runs = Runs::kAtOnce,
     .statuses = "303 403"},
    {.method = "POST",
     .path = "/sign-in",
     .scope = Scope::kMetrics,
     .summary = "Makes a one-time word, for who has the unix socket",
     .types = kJson,
     .answer = new_word,
     .runs = Runs::kAtOnce,
     .statuses = "403",
     .hidden = true},
};

}  // namespace

extern constexpr Routes sign_in_routes{kRoutes};

}  // namespace clrscope::http
