// Whether the controller lives and works: for supervisors, who have no key.
#include "http/answer.h"
#include "http/route.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> live(Call&) { return text_answer("live\n"); }
Result<HttpResponse> ready(Call&) { return text_answer("ready\n"); }

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/health/live",
     .scope = Scope::kOpen,
     .summary = "Answers while the controller lives",
     .types = kText,
     .answer = live,
     .runs = Runs::kAtOnce},
    {.method = "GET",
     .path = "/health/ready",
     .scope = Scope::kOpen,
     .summary = "Answers when the controller can work",
     .types = kText,
     .answer = ready,
     .runs = Runs::kAtOnce},
};

}  // namespace

extern constexpr Routes health_routes{kRoutes};

}  // namespace clrscope::http
