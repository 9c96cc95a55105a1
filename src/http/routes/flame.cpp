// Flame graphs of recordings: for our viewer, as text, and as a file that works alone.
#include "ops/flame.h"

#include <fmt/format.h>

#include "archive/recordings.h"
#include "http/file_answer.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "http/single_file.h"
#include "ops/convert.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

Result<ops::FlameRead> read_recording(const Call& call, const std::string& id) {
  const auto recording = TRY(call.services().recordings.find(id));
  const auto place = TRY(begin_reading(call));
  const auto route = call.text("route");
  auto read = TRY(route ? ops::read_route_flame(recording.path, *route, reading_limits(call))
                        : ops::read_flame(recording.path, {}, reading_limits(call)));
  if (!route && read.graph.processes.size() != 1) read.title = recording.title;
  return read;
}

Result<HttpResponse> graph(Call& call) {
  const auto id = call.text("recording");
  if (!id)
    return fail(Errc::kUsage, "recording is missing: of which recording?")
        .hint("/flame?recording=ID; GET /recordings lists them, POST /recordings takes a trace");
  const auto read = TRY(read_recording(call, *id));
  if (call.wants(kText)) return text_answer(ops::flame_text(read));
  return json_answer(ops::flame_json(read));
}

Result<HttpResponse> file(Call& call) {
  const auto& id = call.path_value("id");
  const auto read = TRY(read_recording(call, id));
  const auto title = TRY(call.services().recordings.find(id)).title;
  auto response = file_head("text/html; charset=utf-8", ops::trace_stem(title) + ".html");
  response.body = flame_file(read);
  return response;
}

constexpr Parameter kRoute{.name = "route",
                           .type = "string",
                           .help =
                               "CPU samples of the profiled requests of this route alone, such as "
                               "GET /orders/{id}"};
constexpr Parameter kGraph[] = {
    {.name = "recording", .type = "string", .help = "id of the recording"}, kRoute};
constexpr Parameter kFile[] = {
    {.name = "id", .type = "string", .help = "id of the recording", .in = Parameter::In::kPath},
    kRoute};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/flame",
     .scope = Scope::kTrace,
     .summary = "The flame graph of a recording, as flat arrays: docs/formats/flame.md",
     .types = "application/json text/plain",
     .parameters = kGraph,
     .answer = graph,
     .json = value_shape<ops::FlameAnswer>,
     .runs = Runs::kLong,
     .statuses = "400 404 413 429"},
    {.method = "GET",
     .path = "/recordings/{id}/flame.html",
     .scope = Scope::kTrace,
     .summary = "The same as one HTML file with the viewer in it",
     .types = kHtml,
     .parameters = kFile,
     .answer = file,
     .runs = Runs::kLong,
     .statuses = "404 413 429"},
};

}  // namespace

extern constexpr Routes flame_routes{kRoutes};

}  // namespace clrscope::http
