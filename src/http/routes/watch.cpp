// The watch: what is wrong with which process, told by checks that go on while somebody asks.
#include "live/watch.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  auto& watch = call.services().watch;
  const auto all = TRY(watch.list());
  if (!watch.is_new_ask(call.caller().name, "")) call.note_repeated();
  return answer_with(all);
}

Result<HttpResponse> show(Call& call) {
  const auto& text = call.path_value("pid");
  const auto pid = parse_number(text);
  if (!pid || *pid == 0 || *pid > 0x7fffffff)
    return fail(Errc::kNotFound, "process {} does not exist", text)
        .hint("GET /watch lists the processes");
  auto& watch = call.services().watch;
  const auto answer = TRY(watch.one(static_cast<pid_t>(*pid)));
  call.note_process(fmt::format("{} {}", answer.process.pid, answer.process.name));
  if (!watch.is_new_ask(call.caller().name, text)) call.note_repeated();
  return answer_with(answer);
}

constexpr Parameter kPid[] = {
    {.name = "pid", .type = "integer", .help = "the process", .in = Parameter::In::kPath}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/watch",
     .scope = Scope::kRead,
     .summary = "Processes, those with the worst findings first; asking keeps the checks going",
     .types = kJson,
     .answer = list,
     .json = value_shape<std::vector<live::WatchedProcess>>},
    {.method = "GET",
     .path = "/watch/{pid}",
     .scope = Scope::kRead,
     .summary = "What the last check of a process found; asking keeps the checks going",
     .types = kJson,
     .parameters = kPid,
     .answer = show,
     .json = value_shape<live::WatchAnswer>,
     .statuses = "404"},
};

}  // namespace

extern constexpr Routes watch_routes{kRoutes};

}  // namespace clrscope::http
