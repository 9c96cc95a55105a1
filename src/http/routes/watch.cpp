// The watch: what is wrong with which process, told by checks that go on while somebody asks.
#include "live/watch.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/answer.h"
#include "http/live_stream.h"
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

// One viewer of the changes.
class ChangeStream {
 public:
  explicit ChangeStream(std::shared_ptr<net::HttpStream> stream) : stream_(std::move(stream)) {}

  bool on_change(const live::FindingChange* change) {
    if (stream_->gone()) return false;
    if (change) {
      if (!stream_->try_write(fmt::format("event: finding\ndata: {}\n\n", json_text(*change))))
        ++dropped_;  // it lags behind
      told_ = TraceClock::now();
      return true;
    }
    if (dropped_ > 0 &&
        stream_->try_write(
            fmt::format("event: missed\ndata: {}\n\n",
                        json_text(StreamMissed{.items = dropped_, .exact = true, .slow = true}))))
      dropped_ = 0;
    constexpr std::chrono::seconds kHeartbeat{15};
    if (TraceClock::now() - told_ < kHeartbeat) return true;
    told_ = TraceClock::now();
    (void)stream_->try_write(": still here\n\n");
    return true;
  }

 private:
  const std::shared_ptr<net::HttpStream> stream_;
  TraceTime told_ = TraceClock::now();
  std::uint64_t dropped_ = 0;
};

void events(Call call) {
  auto stream =
      call.stream({.type = std::string{call.type()},
                   .fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  (void)stream->try_write("retry: 2000\n\n");
  call.services().watch.follow(
      [viewer = std::make_shared<ChangeStream>(std::move(stream))](
          const live::FindingChange* change) { return viewer->on_change(change); });
}

constexpr StreamEvent kEvents[] = {
    {.name = "finding", .data = value_shape<live::FindingChange>},
    {.name = "missed", .data = value_shape<StreamMissed>},
};

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
     .path = "/watch/events",
     .scope = Scope::kRead,
     .summary = "Findings of all processes that begin or end, as server-sent events; the checks go "
                "on while somebody listens",
     .types = kEventStream,
     .serve = events,
     .events = kEvents,
     .live_types = kEventStream},
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
