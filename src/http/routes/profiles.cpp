// What can be recorded: named profiles, and providers with the names of their keywords.
#include "ops/profiles.h"

#include "http/route.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/profiles",
     .scope = Scope::kRead,
     .summary = "Profiles for POST /sessions and POST /trace",
     .types = kJson,
     .answer = [](Call&) -> Result<HttpResponse> { return answer_with(ops::profile_answers()); },
     .json = value_shape<std::vector<ops::ProfileAnswer>>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
    {.method = "GET",
     .path = "/providers",
     .scope = Scope::kRead,
     .summary = "Event providers that are often recorded, with the names of keywords",
     .types = kJson,
     .answer = [](Call&) -> Result<HttpResponse> { return answer_with(ops::provider_answers()); },
     .json = value_shape<std::vector<ops::ProviderAnswer>>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes profiles_routes{kRoutes};

}  // namespace clrscope::http
