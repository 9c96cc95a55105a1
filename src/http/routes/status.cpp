// What the status strip of the pages tells: what the controller itself uses, and what it has open
// in a process.
#include <unistd.h>

#include "base/json.h"
#include "base/proc.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/live/live.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> status(Call& call) {
  const auto own = TRY(proc_status(::getpid()));
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  };
  JsonWriter json;
  json.begin_object()
      .member("version", CLRSCOPE_VERSION)
      .member("rssBytes", own.rss_bytes)
      .member("cpuMs", ms(own.cpu))
      .member("upMs", ms(own.age));
  const auto pid = TRY(call.number("pid", 1, 0x7fffffff));
  for (const auto& one : call.services().live.status()) {
    if (!pid || one.source.pid != *pid) continue;
    std::size_t followers = 0;
    for (const auto& feed : one.process.feeds) followers += feed.followers;
    json.key("live")
        .begin_object()
        .member("sessions", one.process.sessions)
        .member("followers", followers)
        .member("events", one.process.events)
        .member("lost", one.process.lost)
        .end_object();
  }
  json.end_object();
  return json_answer(std::move(json).take());
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "also what is open in this process"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/status",
     .scope = Scope::kRead,
     .summary = "What the controller itself uses",
     .types = kJson,
     .parameters = kParameters,
     .answer = status,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes status_routes{kRoutes};

}  // namespace clrscope::http
