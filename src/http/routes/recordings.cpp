// Recordings that are kept: listed, fetched in any format, reported on, uploaded, removed.
#include "archive/recordings.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "answer/text.h"
#include "archive/file_name.h"
#include "archive/list_documents.h"
#include "archive/operations.h"
#include "base/printable.h"
#include "base/text.h"
#include "export/format.h"
#include "http/file_answer.h"
#include "http/json_body.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "ops/convert.h"
#include "ops/heap.h"
#include "ops/report.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::string_view kSpeedscope = "application/speedscope+json";

Result<HttpResponse> list(Call& call) {
  std::vector<archive::RecordingAnswer> all;
  for (const auto& one : call.services().recordings.list()) all.push_back(archive::answer_of(one));
  return call.wants(kText) ? text_answer(answer::page_text(archive::recordings_document(all)))
                           : answer_with(all);
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

Result<> send_as(Call& call, const archive::Recording& recording, std::string_view name) {
  const auto* format = TRY(ops::parse_format(name));
  auto& recordings = call.services().recordings;
  archive::Recordings::Share share{recordings, archive::Recordings::Share::Kind::kPassing,
                                   recording.id};
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
    call.send(answer_with(archive::answer_of(recording)));
    return {};
  }
  if (recording.kind == archive::RecordingKind::kHeap)
    TRY(call.need(Scope::kMemory, "a heap snapshot"));
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
  const auto* kind = ops::find_report(name);
  if (!kind) {
    std::vector<std::string_view> names;
    for (const auto* one : ops::report_kinds()) names.push_back(one->name);
    return fail(Errc::kNotFound, "unknown report '{}'", name)
        .hint("reports are {}", fmt::join(names, ", "));
  }
  ops::ReportRequest request{.files = {recording.path}, .kind = kind};
  request.options.rows =
      static_cast<std::size_t>(TRY(call.number("rows", 1, 1'000'000)).value_or(0));
  request.options.inclusive = TRY(call.truth("inclusive", false));
  request.lines.wanted = TRY(call.truth("lines", false));
  request.limits = reading_limits(call);
  const auto place = TRY(begin_reading(call));
  const auto answer = TRY(ops::make_report(request));
  if (call.wants(kText)) return text_answer(answer::page_text(answer.report->page()));
  return json_answer(answer.json());
}

// What an uploaded file is.
Result<archive::Recording> read_upload(Call& call, const std::string& path) {
  archive::Recording made{.kind = archive::RecordingKind::kUpload, .by = call.caller().name};
  const auto name = [&](std::string_view otherwise) {
    return archive::safe_file_name(call.text("name").value_or(std::string{otherwise}));
  };
  const auto place = TRY(begin_reading(call));
  if (ops::is_gcdump_file(path)) {
    const auto limits = reading_limits(call);
    const auto heap = TRY(ops::take_heap({.file = path, .largest_file = limits.bytes}, {}));
    made.kind = archive::RecordingKind::kHeap;
    made.title = name("upload.gcdump");
    made.process.name = heap.name == path ? "" : heap.name;
    made.process.runtime = heap.runtime;
    made.notes = heap.notes;
    return made;
  }
  made.title = name("upload.nettrace");
  const auto read = ops::read_trace(
      path,
      {.on_batch = [&](const auto&, const auto& batch) { made.events += batch.events.size(); },
       .on_end = [](const auto&) {}},
      {}, reading_limits(call));
  if (!read && read.error().code == Errc::kTooLarge) return fail(read.error());
  if (!read)
    return fail(Errc::kUsage, "the body is not a trace: {}", read.error().what)
        .hint("send a .nettrace file, compressed or not, or a .gcdump: curl --data-binary @FILE");
  made.lost = read->summary.lost;
  if (auto line = ops::damage_line(*read); !line.empty())
    made.notes.push_back(line.replace(0, path.size(), made.title));
  return made;
}

Result<HttpResponse> upload(Call& call) {
  const auto& path = call.admitted().upload;
  auto& recordings = call.services().recordings;
  auto read = TRY(read_upload(call, path));
  auto recording = TRY(recordings.begin(std::move(read)));
  if (::rename(path.c_str(), recording.path.c_str()) != 0) {
    (void)recordings.discard(recording.id);
    return fail(errc_of(errno), "cannot keep {}: {}", path, errno_text());
  }
  recording.ending = "uploaded";
  TRY(recordings.finish(recording));
  auto answer = answer_with(archive::answer_of(TRY(recordings.find(recording.id))), 201);
  answer.fields.push_back({"Location", call.link("/recordings/" + recording.id)});
  return answer;
}

struct RenameBody {
  OrNull<std::string> name{};
};
const Shape& shape_of(const RenameBody*) {
  static const auto shape = describe<RenameBody>(
      "RecordingName", "A new name for a recording",
      {member<&RenameBody::name>("name", "1 to 200 characters; null or empty: none")});
  return shape;
}

constexpr std::size_t kLongestName = 200;  // in characters

// The name that the body has; empty: none.
Result<std::string> name_in_body(const Call& call) {
  const auto body = TRY(read_body(call));
  const auto* value = find_member(body, "name");
  if (value == nullptr || body.object()->size() != 1)
    return fail(Errc::kUsage, "the body must have the member name and no other")
        .hint(R"(send {{"name": "before the fix"}}; null takes the name away)");
  if (value->is_null()) return std::string{};
  if (value->text() == nullptr) return fail(Errc::kUsage, "name must be a string or null");
  const auto& text = *value->text();
  std::size_t characters = 0;
  for (std::string_view rest{text}; !rest.empty(); ++characters) {
    const auto bytes = utf8_length(rest);
    if (bytes == 0 || commands_terminal(rest.substr(0, bytes)))
      return fail(Errc::kUsage, "name must have printable characters only");
    rest.remove_prefix(bytes);
  }
  if (characters > kLongestName)
    return fail(Errc::kUsage, "name has {} characters; at most {} are allowed", characters,
                kLongestName);
  return std::string{trim(text)};
}

Result<HttpResponse> rename(Call& call) {
  auto name = TRY(name_in_body(call));
  return answer_with(archive::answer_of(
      TRY(call.services().recordings.rename(call.path_value("id"), std::move(name)))));
}

Result<HttpResponse> remove(Call& call) {
  auto& recordings = call.services().recordings;
  const auto found = TRY(recordings.find(call.path_value("id")));
  if (found.state == archive::RecordingState::kRecording)
    return problem(409, "it is being recorded", "DELETE /sessions/ID ends it and keeps nothing");
  TRY(recordings.discard(found.id));
  return HttpResponse{.status = 204, .type = ""};
}

constexpr Parameter kId = {
    .name = "id", .type = "string", .help = "id of the recording", .in = Parameter::In::kPath};
constexpr Parameter kOne[] = {kId};
constexpr Parameter kFetch[] = {
    kId,
    {.name = "format",
     .type = "string",
     .help = "nettrace, speedscope, chromium, collapsed, ndjson, ctf (as a tar)"},
};
constexpr Parameter kUpload[] = {
    {.name = "name", .type = "string", .help = "file name"},
};
constexpr Parameter kReport[] = {
    kId,
    {.name = "kind",
     .type = "string",
     .help = "overview, events, topn, cpu, waits, threads, gc, jit, exceptions, contention, …",
     .in = Parameter::In::kPath},
    {.name = "rows", .type = "integer", .help = "rows of the longest table, in text"},
    {.name = "inclusive", .type = "boolean", .help = "topn: including callees"},
    {.name = "lines", .type = "boolean", .help = "by source line, where a PDB is found"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/recordings",
     .scope = Scope::kTrace,
     .summary = "Recordings, the newest first",
     .types = "application/json text/plain",
     .answer = list,
     .json = value_shape<std::vector<archive::RecordingAnswer>>},
    {.method = "POST",
     .path = "/recordings",
     .scope = Scope::kTrace,
     .summary = "Uploads a trace or a .gcdump",
     .types = kJson,
     .parameters = kUpload,
     .answer = upload,
     .json = value_shape<archive::RecordingAnswer>,
     .runs = Runs::kLong,
     .upload = true,
     .statuses = "201 400 413 429 507"},
    {.method = "GET",
     .path = "/recordings/{id}",
     .scope = Scope::kTrace,
     .summary = "A recording: the trace, the trace in another format, or its description",
     .types = "application/octet-stream application/json application/speedscope+json "
              "application/x-ndjson",
     .parameters = kFetch,
     .serve = fetch_or_fail,
     .json = value_shape<archive::RecordingAnswer>,
     .runs = Runs::kLong,
     .statuses = "400 404 413 429 507"},
    {.method = "GET",
     .path = "/recordings/{id}/report/{kind}",
     .scope = Scope::kTrace,
     .summary = "A report on a recording: time by method, collections, exceptions, locks",
     .types = "application/json text/plain",
     .parameters = kReport,
     .answer = report,
     .json = ops::any_report,
     .runs = Runs::kLong,
     .statuses = "404 413 429"},
    {.method = "PATCH",
     .path = "/recordings/{id}",
     .scope = Scope::kTrace,
     .summary = "Gives a recording a name, or takes it away",
     .types = kJson,
     .parameters = kOne,
     .answer = rename,
     .json = value_shape<archive::RecordingAnswer>,
     .body = value_shape<RenameBody>,
     .statuses = "400 404"},
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
