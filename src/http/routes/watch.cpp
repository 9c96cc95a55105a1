// The watch: what is wrong with which process, told by checks that go on while somebody asks.
#include "live/watch.h"

#include <fmt/format.h>

#include <optional>

#include "answer/text.h"
#include "base/text.h"
#include "http/live_stream.h"
#include "http/route.h"
#include "http/services.h"
#include "live/watch_document.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<HttpResponse> list(Call& call) {
  auto& watch = call.services().watch;
  const auto all = TRY(watch.list());
  if (!watch.is_new_ask(call.caller().name, "")) call.note_repeated();
  return call.wants(kText) ? text_answer(answer::page_text(live::watch_document(all)))
                           : answer_with(all);
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
  return call.wants(kText) ? text_answer(answer::page_text(live::watch_document(answer)))
                           : answer_with(answer);
}

// One viewer of the changes.
class ChangeStream {
 public:
  ChangeStream(std::shared_ptr<net::HttpStream> stream, std::optional<TraceTime> until)
      : stream_(std::move(stream)), until_(until) {}

  bool on_change(const live::FindingChange* change) {
    if (stream_->gone()) return false;
    if (until_ && TraceClock::now() >= *until_) {
      const StreamEnd end{.reason = "the time is over"};
      (void)stream_->try_write(fmt::format("event: end\ndata: {}\n\n", json_text(end)));
      stream_->end();
      return false;
    }
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
  const std::optional<TraceTime> until_;
  TraceTime told_ = TraceClock::now();
  std::uint64_t dropped_ = 0;
};

Result<> serve_events(Call& call) {
  const auto duration = TRY(stream_duration(call, -1));
  std::optional<TraceTime> until;
  if (duration) until = TraceClock::now() + *duration;
  auto stream =
      call.stream({.type = std::string{call.type()},
                   .fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  (void)stream->try_write("retry: 2000\n\n");
  call.services().watch.follow(
      [viewer = std::make_shared<ChangeStream>(std::move(stream), until)](
          const live::FindingChange* change) { return viewer->on_change(change); });
  return {};
}

void events(Call call) {
  if (const auto done = serve_events(call); !done) call.send(done.error());
}

constexpr StreamEvent kEvents[] = {
    {.name = "finding", .data = value_shape<live::FindingChange>},
    {.name = "missed", .data = value_shape<StreamMissed>},
    {.name = "end", .data = value_shape<StreamEnd>},
};

constexpr Parameter kEventParameters[] = {
    {.name = "durationSeconds",
     .type = "integer",
     .help = "length of the stream, to the next check after it; -1: no end (default: -1)"},
};

constexpr Parameter kPid[] = {
    {.name = "pid", .type = "integer", .help = "the process", .in = Parameter::In::kPath}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/watch",
     .scope = Scope::kRead,
     .summary = "Processes, those with the worst findings first; asking keeps the checks going",
     .types = "application/json text/plain",
     .answer = list,
     .json = value_shape<std::vector<live::WatchedProcess>>},
    {.method = "GET",
     .path = "/watch/events",
     .scope = Scope::kRead,
     .summary = "Findings of all processes that begin or end, as server-sent events; the checks go "
                "on while somebody listens",
     .types = kEventStream,
     .parameters = kEventParameters,
     .serve = events,
     .events = kEvents,
     .live_types = kEventStream},
    {.method = "GET",
     .path = "/watch/{pid}",
     .scope = Scope::kRead,
     .summary = "What the last check of a process found; asking keeps the checks going",
     .types = "application/json text/plain",
     .parameters = kPid,
     .answer = show,
     .json = value_shape<live::WatchAnswer>,
     .statuses = "404"},
};

}  // namespace

extern constexpr Routes watch_routes{kRoutes};

}  // namespace clrscope::http
