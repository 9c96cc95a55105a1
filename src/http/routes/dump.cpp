// Dumps: all memory of a process, or what a debugger needs of it.
#include "ops/dump.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "archive/file_name.h"
#include "archive/operations.h"
#include "archive/recordings.h"
#include "base/text.h"
#include "http/file_answer.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "http/trace_request.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

// dotnet-monitor's names; and ours.
Result<ops::DumpType> type_of(const std::string& word) {
  if (equal_ignoring_case(word, "WithHeap")) return ops::DumpType::kHeap;
  std::string lower = word;
  for (auto& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto type = ops::parse_dump_type(lower);
  if (!type)
    return fail(Errc::kUsage, "type={} is not a dump type", word)
        .hint("Full, Mini, WithHeap or Triage");
  return *type;
}

struct Scratch {
  std::string path;
  ~Scratch() { ::unlink(path.c_str()); }
};

// The process writes to it as well: its way there cannot lead through a descriptor of ours.
std::string as_others_see_it(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::read_symlink(path.parent_path(), none) / path.filename();
}

Result<> answer_dump(Call& call) {
  TRY(no_egress(call));
  auto& services = call.services();
  const auto process = TRY(services.processes.chosen(call));
  const auto type = TRY(type_of(call.text("type").value_or("WithHeap")));
  const Scratch scratch{as_others_see_it(TRY(services.recordings.scratch_path(".dmp")))};
  const auto operation = services.operations.begin(
      {.kind = "dump", .process = process, .tags = call.text("tags").value_or("")});
  const auto done = ops::dump(
      {.target = services.processes.target(process), .type = type, .output = scratch.path}, {});
  if (!done) {
    operation->fail(done.error().what);
    return fail(done.error());
  }
  auto head = file_head(kOctets, archive::dated_name("core_" + process.name, ".dmp"));
  head.fields.push_back({"Location", call.link("/operations/" + operation->id())});
  head.fields.push_back(
      {"Clrscope-Pause-Ms",
       fmt::format("{:.0f}", std::chrono::duration<double, std::milli>(done->took).count())});
  if (TRY(send_file(call, std::move(head), done->file)))
    operation->succeed();
  else
    operation->fail("the client left");
  return {};
}

void dump(Call call) {
  if (const auto done = answer_dump(call); !done) call.send(done.error());
}

constexpr Parameter kDump[] = {
    {.name = "pid", .type = "integer", .help = "the process"},
    {.name = "uid", .type = "string", .help = "or its runtime's GUID"},
    {.name = "name", .type = "string", .help = "or its name"},
    {.name = "type",
     .type = "string",
     .help = "Full, Mini, WithHeap or Triage (default: WithHeap)"},
    {.name = "tags",
     .type = "string",
     .help = "tags to find the operation by, separated by commas"},
    {.name = "egressProvider", .type = "string", .help = "not supported: an error"},
};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/dump",
     .scope = Scope::kMemory,
     .summary = "A core dump of a process, which is paused meanwhile",
     .types = kOctets,
     .parameters = kDump,
     .serve = dump,
     .runs = Runs::kLong,
     .load = Load::kMemory,
     .statuses = "400 429"},
};

}  // namespace

extern constexpr Routes dump_routes{kRoutes};

}  // namespace clrscope::http
