// Recordings that are kept: listed, fetched in any format, reported on, uploaded, removed.
#include "http/recordings.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/json.h"
#include "base/text.h"
#include "export/format.h"
#include "http/answer.h"
#include "http/file_answer.h"
#include "http/operations.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/convert.h"
#include "ops/page_text.h"
#include "ops/report.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kSpeedscope = "application/speedscope+json";

std::string json_of(const Recording& recording) {
  JsonWriter json;
  json.begin_object();
  write_recording(json, recording);
  json.end_object();
  return std::move(json).take() + "\n";
}

Result<HttpResponse> list(Call& call) {
  JsonWriter json;
  json.begin_array();
  for (const auto& one : call.services().recordings.list()) {
    json.begin_object();
    write_recording(json, one);
    json.end_object();
  }
  json.end_array();
  return json_answer(std::move(json).take() + "\n");
}

std::string_view type_of(const exports::Format& format) {
  if (format.rewrite_folder) return "application/x-tar";
  if (format.name == "speedscope") return kSpeedscope;
  if (format.name == "ndjson") return kNdjson;
  if (format.extension.ends_with("json")) return kJson;
  if (format.name == "collapsed") return "text/plain; charset=utf-8";
  if (format.extension == ".html") return "text/html; charset=utf-8";
  return kOctets;
}

// Removes what a request made, whatever became of it.
struct Scratch {
  std::string path;
  ~Scratch() {
    std::error_code none;
    std::filesystem::remove_all(path, none);
  }
};

Result<> send_as(Call& call, const Recording& recording, std::string_view name) {
  const auto* format = TRY(ops::parse_format(name));
  auto& recordings = call.services().recordings;
  Recordings::Share share{recordings, Recordings::Share::Kind::kPassing, recording.id};
  const Scratch scratch{TRY(recordings.scratch_path(".part"))};
  auto place = TRY(begin_reading(call));
  const auto done =
      TRY(ops::convert({.input = recording.path,
                        .format = format,
                        .output = scratch.path,
                        .limits = reading_limits(call),
                        .on_output = [&](std::uint64_t bytes) { return share.grow(bytes); }}));
  place.reset();  // a client that is slow to take it keeps nobody else from converting
  std::string stem = recording.title;
  for (const std::string_view ending : {".zst", ".nettrace"})
    if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
  auto head = file_head(type_of(*format), stem + std::string{format->extension});
  if (!done.damage.empty()) head.fields.push_back({"Clrscope-Notes", done.damage});
  if (!format->rewrite_folder) {
    (void)TRY(send_file(call, std::move(head), done.file));
    return {};
  }
  head = file_head(kTar, stem + ".tar");
  (void)TRY(send_folder(call, std::move(head), done.file));
  return {};
}

Result<> fetch(Call& call) {
  const auto recording = TRY(call.services().recordings.find(call.path_value("id")));
  const auto format = call.text("format");
  if (!format && call.wants(kJson)) {
    call.send(json_answer(json_of(recording)));
    return {};
  }
  if (format && *format != "nettrace") return send_as(call, recording, *format);
  if (!format && call.wants(kSpeedscope)) return send_as(call, recording, "speedscope");
  if (!format && call.wants(kNdjson)) return send_as(call, recording, "ndjson");
  (void)TRY(send_file(call, file_head(kOctets, recording.title), recording.path));
  return {};
}

void fetch_or_fail(Call call) {
  if (const auto done = fetch(call); !done) call.send(done.error());
}

Result<HttpResponse> report(Call& call) {
  const auto recording = TRY(call.services().recordings.find(call.path_value("id")));
  const auto& name = call.path_value("kind");
  const auto* kind = analyze::find_report(name);
  if (!kind) {
    std::vector<std::string_view> names;
    for (const auto* one : analyze::report_kinds()) names.push_back(one->name);
    return fail(Errc::kNotFound, "there is no report '{}'", name)
        .hint("reports are {}", fmt::join(names, ", "));
  }
  ops::ReportWish wish{.files = {recording.path}, .kind = kind};
  wish.options.rows = static_cast<std::size_t>(TRY(call.number("rows", 1, 1'000'000)).value_or(0));
  wish.options.inclusive = TRY(call.truth("inclusive", false));
  wish.lines.wanted = TRY(call.truth("lines", false));
  wish.limits = reading_limits(call);
  const auto place = TRY(begin_reading(call));
  const auto answer = TRY(ops::make_report(wish));
  if (call.wants(kText)) return text_answer(ops::page_text(answer.report->page()));
  return json_answer(answer.json());
}

Result<HttpResponse> upload(Call& call) {
  const auto& path = call.admitted().upload;
  std::uint64_t events = 0;
  auto place = TRY(begin_reading(call));
  const auto read = ops::read_trace(
      path,
      {.on_batch = [&](const auto&, const auto& batch) { events += batch.events.size(); },
       .on_end = [](const auto&) {}},
      {}, reading_limits(call));
  place.reset();
  if (!read && read.error().code == Errc::kTooLarge) return fail(read.error());
  if (!read)
    return fail(Errc::kUsage, "the body is no trace: {}", read.error().what)
        .hint("send a .nettrace file, compressed or not: curl --data-binary @FILE");
  auto& recordings = call.services().recordings;
  auto recording =
      TRY(recordings.begin({.kind = "upload",
                            .title = safe_file_name(call.text("name").value_or("upload.nettrace")),
                            .by = call.caller().name}));
  if (::rename(path.c_str(), recording.path.c_str()) != 0) {
    (void)recordings.discard(recording.id);
    return fail(errc_of(errno), "cannot keep {}: {}", path, errno_text());
  }
  recording.events = events;
  recording.lost = read->summary.lost;
  recording.ending = "uploaded";
  if (auto line = ops::damage_line(*read); !line.empty())
    recording.notes.push_back(line.replace(0, path.size(), recording.title));
  TRY(recordings.finish(recording));
  auto answer = json_answer(json_of(TRY(recordings.find(recording.id))), 201);
  answer.fields.push_back({"Location", call.link("/recordings/" + recording.id)});
  return answer;
}

Result<HttpResponse> remove(Call& call) {
  auto& recordings = call.services().recordings;
  const auto found = TRY(recordings.find(call.path_value("id")));
  if (found.state == "recording")
    return problem(409, "it is being recorded", "DELETE /sessions/ID ends it and keeps nothing");
  TRY(recordings.discard(found.id));
  return HttpResponse{.status = 204, .type = ""};
}

constexpr Parameter kId = {
    .name = "id", .type = "string", .help = "of the recording", .in = Parameter::In::kPath};
constexpr Parameter kOne[] = {kId};
constexpr Parameter kFetch[] = {
    kId,
    {.name = "format",
     .type = "string",
     .help = "nettrace, speedscope, chromium, collapsed, ndjson, ctf (as a tar)"},
};
constexpr Parameter kUpload[] = {
    {.name = "name", .type = "string", .help = "what the file is called"},
};
constexpr Parameter kReport[] = {
    kId,
    {.name = "kind",
     .type = "string",
     .help = "overview, events, topn, cpu, waits, threads, gc, jit, exceptions, contention, …",
     .in = Parameter::In::kPath},
    {.name = "rows", .type = "integer", .help = "of the longest table, in text"},
    {.name = "inclusive", .type = "boolean", .help = "topn: with all that a method called"},
    {.name = "lines", .type = "boolean", .help = "by source line, where a PDB tells it"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/recordings",
     .scope = Scope::kTrace,
     .summary = "The recordings that are kept, the newest first",
     .types = kJson,
     .answer = list},
    {.method = "POST",
     .path = "/recordings",
     .scope = Scope::kTrace,
     .summary = "Keeps a trace that the body is",
     .types = kJson,
     .parameters = kUpload,
     .answer = upload,
     .runs = Runs::kLong,
     .upload = true,
     .statuses = "201 400 413 429 507"},
    {.method = "GET",
     .path = "/recordings/{id}",
     .scope = Scope::kTrace,
     .summary = "A recording: the trace, the same in another format, or what is known of it",
     .types = "application/octet-stream application/json application/speedscope+json "
              "application/x-ndjson",
     .parameters = kFetch,
     .serve = fetch_or_fail,
     .runs = Runs::kLong,
     .statuses = "400 404 413 429 507"},
    {.method = "GET",
     .path = "/recordings/{id}/report/{kind}",
     .scope = Scope::kTrace,
     .summary = "What a recording says: time by method, collections, exceptions, locks",
     .types = "application/json text/plain",
     .parameters = kReport,
     .answer = report,
     .runs = Runs::kLong,
     .statuses = "404 413 429"},
    {.method = "DELETE",
     .path = "/recordings/{id}",
     .scope = Scope::kTrace,
     .summary = "Removes a recording",
     .parameters = kOne,
     .answer = remove,
     .statuses = "204 404 409"},
};

}  // namespace

extern constexpr Routes recordings_routes{kRoutes};

}  // namespace clrscope::http
