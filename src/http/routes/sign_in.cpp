// The one-time address that `serve` prints: exchanges its word for a cookie.
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
};

}  // namespace

extern constexpr Routes sign_in_routes{kRoutes};

}  // namespace clrscope::http
