// Recordings that are started, looked after and stopped by separate requests.
#include "archive/sessions.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "answer/text.h"
#include "archive/list_documents.h"
#include "base/io.h"
#include "http/file_answer.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "http/trace_request.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::size_t kPiece = 256 << 10;

archive::SessionRequest session_of(const TraceRequest& request) {
  archive::SessionRequest session{.profile = request.profile.value_or(""), .tags = request.tags};
  if (const auto seconds = request.duration_seconds.value_or(-1); seconds >= 0)
    session.duration = std::chrono::seconds{seconds};
  if (request.lease_seconds) session.lease = std::chrono::seconds{*request.lease_seconds};
  return session;
}

Result<HttpResponse> start(Call& call) {
  TRY(no_egress(call));
  const auto request = TRY(trace_request(call));
  auto record = TRY(record_request(request));
  auto& services = call.services();
  Process process{.pid = 0, .name = "machine", .user = {}};
  if (request.whole_machine) {
    TRY(services.processes.machine_allowed());
  } else {
    process = TRY(services.processes.chosen(call, request.selector));
    record.target = services.processes.target(process);
  }
  const auto busy = [](std::size_t count, std::string_view whose) {
    auto answer = problem(429, fmt::format("{} sessions run already{}", count, whose),
                          "the limit \"sessions\"; GET /sessions lists them; POST "
                          "/sessions/ID/stop ends one");
    answer.fields.push_back({"Retry-After", "10"});
    return answer;
  };
  const auto& limit = call.admitted().route->running;
  if (services.sessions.count() >= limit.all) return busy(limit.all, "");
  const auto own =
      std::ranges::count_if(services.sessions.list(), [&](const archive::SessionView& one) {
        return one.running && one.recording.by == call.caller().name;
      });
  if (static_cast<std::size_t>(own) >= limit.one) return busy(limit.one, " for this caller");
  if (const auto room = services.recordings.make_room(); !room)
    return problem(507, room.error().what, room.error().hint);
  const auto view =
      services.sessions.start(session_of(request), std::move(record), process, call.caller().name);
  if (!view) return record_problem(view.error());
  auto answer = answer_with(archive::answer_of(*view), 201);
  answer.fields.push_back({"Location", call.link("/sessions/" + view->recording.id)});
  return answer;
}

Result<HttpResponse> list(Call& call) {
  std::vector<archive::SessionAnswer> all;
  for (const auto& view : call.services().sessions.list()) all.push_back(archive::answer_of(view));
  return call.wants(kText) ? text_answer(answer::page_text(archive::sessions_document(all)))
                           : answer_with(all);
}

Result<HttpResponse> show(Call& call) {
  return answer_with(
      archive::answer_of(TRY(call.services().sessions.find(call.path_value("id"), true))));
}

// The bytes of its file that do not change any more.
std::uint64_t settled_bytes(const archive::SessionView& view, int file) {
  struct stat status {};
  const auto size =
      ::fstat(file, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : std::uint64_t{0};
  return view.running ? std::min(size, view.recording.bytes) : size;
}

// False: the client went away. What is recorded is kept.
bool send_up_to(net::HttpStream& stream, int file, std::uint64_t& sent, std::uint64_t end) {
  std::string piece(kPiece, '\0');
  while (sent < end) {
    const auto want = std::min<std::uint64_t>(end - sent, piece.size());
    const auto got = ::pread(file, piece.data(), want, static_cast<off_t>(sent));
    if (got <= 0) return false;
    if (!stream.write(piece.substr(0, static_cast<std::size_t>(got)))) return false;
    sent += static_cast<std::uint64_t>(got);
  }
  return !stream.gone();
}

std::vector<net::HttpField> trailers_of(const archive::Recording& recording) {
  return {{"Clrscope-Ending", recording.ending},
          {"Clrscope-Events", std::to_string(recording.events)},
          {"Clrscope-Samples", std::to_string(recording.samples)},
          {"Clrscope-Lost", std::to_string(recording.lost)}};
}

// The trace goes out while the method names are still being written to it.
Result<> answer_trace(Call& call) {
  auto& sessions = call.services().sessions;
  const auto& id = call.path_value("id");
  TRY(sessions.stop(id));
  auto view = TRY(sessions.find(id, true));
  while (view.recording.state == archive::RecordingState::kStarting && !call.gone()) {
    std::this_thread::sleep_for(kLook);
    view = TRY(sessions.find(id, true));
  }
  // It stays this file even when it is replaced by one with more names in it.
  const auto file = TRY(open_for_reading(view.recording.path));
  auto head = file_head(kOctets, view.recording.title);
  head.fields.push_back({"Clrscope-Recording", id});
  head.fields.push_back(
      {"Trailer", "Clrscope-Ending, Clrscope-Events, Clrscope-Samples, Clrscope-Lost"});
  const auto stream = call.stream(std::move(head));
  for (std::uint64_t sent = 0;;) {
    if (!send_up_to(*stream, file.get(), sent, settled_bytes(view, file.get()))) return {};
    if (!view.running) break;
    std::this_thread::sleep_for(kLook);
    const auto now = sessions.find(id, true);
    if (!now) return {};  // it was discarded: the answer breaks off
    view = *now;
  }
  stream->end(trailers_of(view.recording));
  return {};
}

void stop(Call call) {
  if (const auto done = answer_trace(call); !done) call.send(done.error());
}

Result<HttpResponse> discard(Call& call) {
  TRY(call.services().sessions.discard(call.path_value("id")));
  return HttpResponse{.status = 204, .type = ""};
}

constexpr Parameter kId[] = {
    {.name = "id", .type = "string", .help = "of the session", .in = Parameter::In::kPath}};

const Route kRoutes[] = {
    {.method = "POST",
     .path = "/sessions",
     .scope = Scope::kTrace,
     .summary = "Starts a recording that goes on until it is stopped",
     .types = kJson,
     .parameters = kTraceParameters,
     .answer = start,
     .json = value_shape<archive::SessionAnswer>,
     .body = value_shape<TraceBody>,
     .runs = Runs::kLong,
     .running = {.name = "sessions", .all = 32, .one = 16},
     .statuses = "201 400 429 507"},
    {.method = "GET",
     .path = "/sessions",
     .scope = Scope::kTrace,
     .summary = "Sessions that are running or whose recording is kept",
     .types = "application/json text/plain",
     .answer = list,
     .json = value_shape<std::vector<archive::SessionAnswer>>},
    {.method = "GET",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "One session; asking renews its lease",
     .types = kJson,
     .parameters = kId,
     .answer = show,
     .json = value_shape<archive::SessionAnswer>,
     .statuses = "404"},
    {.method = "POST",
     .path = "/sessions/{id}/stop",
     .scope = Scope::kTrace,
     .summary = "Stops a session; the answer is the trace",
     .types = kOctets,
     .parameters = kId,
     .serve = stop,
     .runs = Runs::kLong,
     .statuses = "404"},
    {.method = "DELETE",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "Stops a session and discards its recording",
     .parameters = kId,
     .answer = discard,
     .runs = Runs::kLong,
     .statuses = "204 404"},
};

}  // namespace

extern const Routes sessions_routes{kRoutes};

}  // namespace clrscope::http
