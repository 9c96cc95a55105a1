// What the status strip of the pages tells: what the controller itself uses.
#include <unistd.h>

#include "base/json.h"
#include "base/proc.h"
#include "http/answer.h"
#include "http/route.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> status(Call&) {
  const auto own = TRY(proc_status(::getpid()));
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  JsonWriter json;
  json.begin_object()
      .member("version", CLRSCOPE_VERSION)
      .member("rssBytes", own.rss_bytes)
      .member("cpuMs", ms(own.cpu))
      .member("upMs", ms(own.age))
      .end_object();
  return json_answer(std::move(json).take());
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/status",
     .scope = Scope::kRead,
     .summary = "What the controller itself uses",
     .types = kJson,
     .answer = status,
     .runs = Runs::kAtOnce},
};

}  // namespace

extern constexpr Routes status_routes{kRoutes};

}  // namespace clrscope::http
