// Recordings that are started, looked after and stopped by separate requests.
#include "http/sessions.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/io.h"
#include "base/json.h"
#include "http/answer.h"
#include "http/file_answer.h"
#include "http/route.h"
#include "http/services.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kMostSessions = 32;
constexpr std::ptrdiff_t kMostOfACaller = 16;

constexpr std::chrono::milliseconds kLook{50};
constexpr std::size_t kPiece = 256 << 10;

std::string json_of(const SessionView& view) {
  JsonWriter json;
  write_session(json, view);
  return std::move(json).take() + "\n";
}

Result<HttpResponse> start(Call& call) {
  TRY(no_egress(call));
  const auto wish = TRY(trace_wish(call));
  auto record = TRY(record_wish(wish));
  auto& services = call.services();
  Process process{.pid = 0, .name = "machine", .user = {}};
  if (wish.whole_machine) {
    TRY(services.processes.machine_allowed());
  } else {
    process = TRY(services.processes.chosen(call, wish.selector));
    record.target = services.processes.target(process);
  }
  const auto busy = [](std::size_t count, std::string_view whose) {
    auto answer = problem(429, fmt::format("{} sessions run already{}", count, whose),
                          "the limit \"sessions\"; GET /sessions lists them; POST "
                          "/sessions/ID/stop ends one");
    answer.fields.push_back({"Retry-After", "10"});
    return answer;
  };
  if (services.sessions.count() >= kMostSessions) return busy(kMostSessions, "");
  const auto own = std::ranges::count_if(services.sessions.list(), [&](const SessionView& one) {
    return one.running && one.recording.by == call.caller().name;
  });
  if (own >= kMostOfACaller)
    return busy(static_cast<std::size_t>(kMostOfACaller), " for this caller");
  if (const auto room = services.recordings.make_room(); !room)
    return problem(507, room.error().what, room.error().hint);
  const auto view = services.sessions.start(wish, std::move(record), process, call.caller().name);
  if (!view) return record_problem(view.error());
  auto answer = json_answer(json_of(*view), 201);
  answer.fields.push_back({"Location", call.link("/sessions/" + view->recording.id)});
  return answer;
}

Result<HttpResponse> list(Call& call) {
  JsonWriter json;
  json.begin_array();
  for (const auto& view : call.services().sessions.list()) write_session(json, view);
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

Result<HttpResponse> show(Call& call) {
  return json_answer(json_of(TRY(call.services().sessions.find(call.path_value("id"), true))));
}

// The bytes of its file that do not change any more.
std::uint64_t settled_bytes(const SessionView& view, int file) {
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

std::vector<net::HttpField> trailers_of(const Recording& recording) {
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
  while (view.recording.state == "starting" && !call.gone()) {
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
     .runs = Runs::kLong,
     .body = kTraceBody,
     .statuses = "201 400 429 507"},
    {.method = "GET",
     .path = "/sessions",
     .scope = Scope::kTrace,
     .summary = "The sessions that run, and those that have ended and are kept",
     .types = kJson,
     .answer = list},
    {.method = "GET",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "One session; asking renews its lease",
     .types = kJson,
     .parameters = kId,
     .answer = show,
     .statuses = "404"},
    {.method = "POST",
     .path = "/sessions/{id}/stop",
     .scope = Scope::kTrace,
     .summary = "Stops it; the answer is the trace",
     .types = kOctets,
     .parameters = kId,
     .serve = stop,
     .runs = Runs::kLong,
     .statuses = "404"},
    {.method = "DELETE",
     .path = "/sessions/{id}",
     .scope = Scope::kTrace,
     .summary = "Ends it and keeps nothing",
     .parameters = kId,
     .answer = discard,
     .runs = Runs::kLong,
     .statuses = "204 404"},
};

}  // namespace

extern const Routes sessions_routes{kRoutes};

}  // namespace clrscope::http
