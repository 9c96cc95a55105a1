// The managed heap: snapshots of a process, and questions about one that is kept.
//
// GET /heap keeps its snapshot as a recording, so that the next question needs no new one.
#include "ops/heap.h"

#include <fmt/format.h>
#include <unistd.h>

#include "answer/text.h"
#include "archive/file_name.h"
#include "archive/operations.h"
#include "archive/recordings.h"
#include "base/text.h"
#include "http/file_answer.h"
#include "http/processes.h"
#include "http/reading.h"
#include "http/route.h"
#include "http/services.h"
#include "http/trace_request.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kNeighbours = 100;
constexpr std::size_t kDiffRows = 1000;

// What is asked about a heap: all of it, a type, an object, the difference to an earlier one.
struct Question {
  std::optional<std::string> type{};
  std::optional<std::uint64_t> object{};
  std::optional<std::string> diff{};  // id of the earlier recording
  ops::HeapStyle style{};
};

Result<std::uint64_t> address_of(const std::string& text) {
  const auto address = parse_number(text);  // also 0x…
  if (!address)
    return fail(Errc::kUsage, "object must be an address, not '{}'", text)
        .hint("use an address of the same snapshot, such as 0x7f3a10");
  return *address;
}

Result<Question> question_of(const Call& call) {
  Question made{.type = call.text("type"), .diff = call.text("diff")};
  if (const auto object = call.text("object")) made.object = TRY(address_of(*object));
  if (made.type.has_value() + made.object.has_value() + made.diff.has_value() > 1)
    return fail(Errc::kUsage, "only one of type, object and diff can be given");
  made.style.rows = static_cast<std::size_t>(TRY(call.number("rows", 1, 100'000)).value_or(50));
  made.style.strings = true;
  return made;
}

template <class Answer>
HttpResponse answer_as(const Call& call, const Answer& answer, const Document& page) {
  return call.wants(kText) ? text_answer(answer::page_text(page)) : answer_with(answer);
}

// `earlier`: of question.diff.
Result<HttpResponse> answer_about(const Call& call, const HeapSnapshot& heap,
                                  const HeapSnapshot* earlier, const Question& question,
                                  const std::string& recording) {
  const auto& style = question.style;
  const ops::HeapReport report{heap};
  const auto limit = [&](std::size_t usual) { return std::max(style.rows, usual); };
  if (earlier != nullptr) {
    auto diff = diff_heaps(ops::HeapReport{*earlier}, report, limit(kDiffRows));
    diff.before.recording = question.diff.value_or("");
    diff.after.recording = recording;
    return answer_as(call, diff, heap_diff_document(diff, style));
  }
  if (question.type) {
    auto type = TRY(report.type(*question.type, {.instances = limit(100), .paths = limit(50)}));
    type.heap.recording = recording;
    return answer_as(call, type, heap_type_document(type, style));
  }
  if (question.object) {
    auto object = TRY(report.object(*question.object, limit(kNeighbours)));
    object.heap.recording = recording;
    return answer_as(call, object, heap_object_document(object, style));
  }
  auto whole = report.answer({.types = limit(1000)});
  whole.heap.recording = recording;
  return answer_as(call, whole, heap_document(whole, style));
}

Result<HeapSnapshot> take(Call& call, const Process& process, bool strings) {
  ops::HeapRequest request{.target = call.services().processes.target(process),
                           .force = TRY(call.truth("force", false)),
                           .strings = strings};
  auto heap = TRY(ops::take_heap(request, {}));
  if (heap.name.empty()) heap.name = process.name;
  if (heap.pid == 0) heap.pid = process.pid;
  return heap;
}

// The snapshot as a recording; its id.
Result<std::string> keep(Call& call, const Process& process, const HeapSnapshot& heap) {
  auto& recordings = call.services().recordings;
  auto recording = TRY(recordings.begin({.kind = archive::RecordingKind::kHeap,
                                         .title = archive::dated_name(process.name, ".gcdump"),
                                         .process = process,
                                         .notes = heap.notes,
                                         .by = call.caller().name}));
  const auto written = ops::write_heap(heap, recording.path);
  if (!written) {
    (void)recordings.discard(recording.id);
    return fail(written.error());
  }
  recording.duration = heap.took;
  recording.ending = "snapshot";
  if (const auto kept = recordings.finish(recording); !kept) {
    (void)recordings.discard(recording.id);
    return fail(kept.error());
  }
  TRY(recordings.make_room(1));  // within the disk limit again: the oldest go
  return recording.id;
}

Result<HttpResponse> heap(Call& call) {
  TRY(no_egress(call));
  auto& services = call.services();
  const auto question = TRY(question_of(call));
  if (question.diff)
    return fail(Errc::kUsage, "diff needs a snapshot that is kept")
        .hint("GET /recordings/ID/heap?diff=EARLIER_ID compares two");
  const auto process = TRY(services.processes.chosen(call));
  const auto operation = services.operations.begin({.kind = "heap", .process = process});
  auto answered = [&]() -> Result<HttpResponse> {
    const bool strings = TRY(call.truth("strings", false));
    const auto taken = TRY(take(call, process, strings));
    const auto id = TRY(keep(call, process, taken));
    auto response = TRY(answer_about(call, taken, nullptr, question, id));
    response.fields.push_back({"Location", call.link("/recordings/" + id + "/heap")});
    return response;
  }();
  if (answered)
    operation->succeed();
  else
    operation->fail(answered.error().what);
  return answered;
}

Result<HeapSnapshot> read_kept(Call& call, const std::string& id) {
  const auto recording = TRY(call.services().recordings.find(id));
  if (recording.state != archive::RecordingState::kFinished)
    return fail(Errc::kNotFound, "recording {} is not finished", id);
  auto heap =
      ops::take_heap({.file = recording.path, .largest_file = reading_limits(call).bytes}, {});
  if (!heap)
    return fail(heap.error().code == Errc::kCorrupt ? Errc::kUsage : heap.error().code,
                "recording {} ({}) has no heap that can be read: {}", id, recording.title,
                heap.error().what)
        .hint("GET /heap?pid=PID takes a snapshot");
  if (heap->pid == 0) heap->pid = recording.process.pid;
  if (heap->name.empty() || heap->name == recording.path)
    heap->name = recording.process.name.empty() ? recording.title : recording.process.name;
  if (heap->runtime.empty()) heap->runtime = recording.process.runtime;
  return heap;
}

Result<HttpResponse> kept_heap(Call& call) {
  const auto question = TRY(question_of(call));
  const auto& id = call.path_value("id");
  const auto place = TRY(begin_reading(call));
  std::optional<HeapSnapshot> earlier;
  if (question.diff) earlier = TRY(read_kept(call, *question.diff));
  const auto heap = TRY(read_kept(call, id));
  return answer_about(call, heap, earlier ? &*earlier : nullptr, question, id);
}

struct Scratch {
  std::string path;
  ~Scratch() { ::unlink(path.c_str()); }
};

Result<> answer_gcdump(Call& call) {
  TRY(no_egress(call));
  auto& services = call.services();
  const auto process = TRY(services.processes.chosen(call));
  const Scratch scratch{TRY(services.recordings.scratch_path(".gcdump"))};
  const auto operation = services.operations.begin(
      {.kind = "gcdump", .process = process, .tags = call.text("tags").value_or("")});
  HttpResponse head = file_head(kOctets, archive::dated_name(process.name, ".gcdump"));
  const auto written = [&]() -> Result<> {
    const auto taken = TRY(take(call, process, false));
    (void)TRY(ops::write_heap(taken, scratch.path));
    head.fields.push_back(
        {"Clrscope-Pause-Ms",
         fmt::format("{:.1f}", std::chrono::duration<double, std::milli>(taken.pause).count())});
    return {};
  }();
  if (!written) {
    operation->fail(written.error().what);
    return fail(written.error());
  }
  head.fields.push_back({"Location", call.link("/operations/" + operation->id())});
  if (TRY(send_file(call, std::move(head), scratch.path)))
    operation->succeed();
  else
    operation->fail("the client left");
  return {};
}

void gcdump(Call call) {
  if (const auto done = answer_gcdump(call); !done) call.send(done.error());
}

template <class... Answers>
const ValueShape& one_of() {
  static const ValueShape value{.kind = ValueShape::Kind::kAlternatives,
                                .alternatives = []() -> std::span<const ValueShape> {
                                  static const ValueShape all[] = {value_shape<Answers>()...};
                                  return all;
                                },
                                .write = nullptr};
  return value;
}

constexpr Parameter kPid = {.name = "pid", .type = "integer", .help = "the process"};
constexpr Parameter kUid = {.name = "uid", .type = "string", .help = "or its runtime's GUID"};
constexpr Parameter kName = {.name = "name", .type = "string", .help = "or its name"};
constexpr Parameter kForce = {
    .name = "force",
    .type = "boolean",
    .help = "take the snapshot even if it may not fit the memory limit of the process"};
constexpr Parameter kType = {
    .name = "type",
    .type = "string",
    .help = "objects of a type and what keeps them alive: a name, a part of it, or * and ?"};
constexpr Parameter kObject = {
    .name = "object", .type = "string", .help = "one object, by its address: 0x7f3a10"};
constexpr Parameter kRows = {.name = "rows",
                             .type = "integer",
                             .help =
                                 "rows of each table (default: 50); JSON has at least 1000 "
                                 "types, 100 objects and 50 paths"};
constexpr Parameter kEgress = {
    .name = "egressProvider", .type = "string", .help = "not supported: an error"};

constexpr Parameter kHeap[] = {
    kPid,
    kUid,
    kName,
    kForce,
    kType,
    kObject,
    {.name = "strings", .type = "boolean", .help = "duplicate strings too, which takes longer"},
    kRows,
    kEgress};
constexpr Parameter kDump[] = {kPid,
                               kUid,
                               kName,
                               kForce,
                               {.name = "tags",
                                .type = "string",
                                .help = "tags to find the operation by, separated by commas"},
                               kEgress};
constexpr Parameter kKept[] = {
    {.name = "id",
     .type = "string",
     .help = "id of the recording: a snapshot, or an uploaded .gcdump",
     .in = Parameter::In::kPath},
    kType,
    kObject,
    {.name = "diff", .type = "string", .help = "id of an earlier snapshot to compare with"},
    kRows};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/heap",
     .scope = Scope::kMemory,
     .summary = "The managed heap of a process and what keeps it alive; the snapshot is kept",
     .types = "application/json text/plain",
     .parameters = kHeap,
     .answer = heap,
     .json = one_of<ops::HeapAnswer, ops::HeapTypeAnswer, ops::HeapObjectAnswer>,
     .runs = Runs::kLong,
     .load = Load::kMemory,
     .statuses = "400 404 429 507"},
    {.method = "GET",
     .path = "/recordings/{id}/heap",
     .scope = Scope::kMemory,
     .summary = "A heap snapshot that is kept: all of it, a type, an object, what changed",
     .types = "application/json text/plain",
     .parameters = kKept,
     .answer = kept_heap,
     .json =
         one_of<ops::HeapAnswer, ops::HeapTypeAnswer, ops::HeapObjectAnswer, ops::HeapDiffAnswer>,
     .runs = Runs::kLong,
     .statuses = "400 404 413 429"},
    {.method = "GET",
     .path = "/gcdump",
     .scope = Scope::kMemory,
     .summary = "The managed heap of a process as a .gcdump file",
     .types = kOctets,
     .parameters = kDump,
     .serve = gcdump,
     .runs = Runs::kLong,
     .load = Load::kMemory,
     .statuses = "400 429"},
};

}  // namespace

extern constexpr Routes heap_routes{kRoutes};

}  // namespace clrscope::http
