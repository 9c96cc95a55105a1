// How a browser signs in (site/sign_in.h). Who has the unix socket may ask for another one-time
// word: `clrscope enable` prints it.
#include "site/sign_in.h"
#include "http/access.h"
#include "http/route.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> sign_in(Call& call) {
  return site::sign_in(call.services().access.visits(), call.request(), call.admitted().base_path);
}

Result<HttpResponse> by_key(Call& call) {
  return site::sign_in_by_key(call.services().access.visits(), call.request(),
                              call.admitted().base_path);
}

Result<HttpResponse> sign_out(Call& call) {
  return site::sign_out(call.services().access.visits(), call.request(), call.admitted().base_path);
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
  auto& visits = call.services().access.visits();
  return answer_with(OneTimeWord{.once = visits.new_one_time_word(), .host = visits.own_name()});
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
