// What a runtime reader says of a live process or a core, as JSON, for tests:
// `inspect_live PID|CORE`.
//
// Prints threads with their frames, sync blocks and the types of what they lock, and what it cost.
// tests/e2e compares this with what the sample says of itself.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "inspect/dac/worker.h"
#include "inspect/runtime_reader.h"

namespace {

using namespace clrscope;
using namespace clrscope::inspect;

double ms_since(TraceTime start) {
  return std::chrono::duration<double, std::milli>(TraceClock::now() - start).count();
}

void write_frames(JsonWriter& out, RuntimeReader& reader, const RuntimeThread& thread,
                  const OsThread* os) {
  out.key("frames").begin_array();
  std::string why;
  if (os) {
    if (const auto frames = reader.frames(thread, *os)) {
      for (const auto& frame : *frames) out.value(frame.method);
    } else {
      why = frames.error().what;
    }
  }
  out.end_array().member("noFrames", why);
}

void write_threads(JsonWriter& out, RuntimeReader& reader, const std::vector<RuntimeThread>& all,
                   const std::vector<OsThread>& os_threads) {
  std::map<std::uint32_t, const OsThread*> by_id;
  for (const auto& os : os_threads) by_id[static_cast<std::uint32_t>(os.namespace_tid)] = &os;
  out.key("threads").begin_array();
  for (const auto& thread : all) {
    const auto os = by_id.find(thread.os_id);
    out.begin_object()
        .member("osId", thread.os_id)
        .member("address", fmt::format("{:x}", thread.address))
        .member("managedId", thread.managed_id)
        .member("name", thread.name)
        .member("background", thread.background)
        .member("pool", thread.pool)
        .member("dead", thread.dead)
        .member("exception", thread.exception_type)
        .member("object", thread.managed_object);
    write_frames(out, reader, thread, os == by_id.end() ? nullptr : os->second);
    out.end_object();
  }
  out.end_array();
}

void write_type(JsonWriter& out, Target& target, RuntimeReader& reader, std::uint64_t object) {
  Memory memory{target.memory()};
  const auto table = memory.pointer(object);
  const auto type = reader.type_of_table(table.value_or(0) & ~std::uint64_t{7});
  out.member("type", type ? type->name : "");
  out.key("fields").begin_array();
  if (type)
    for (const auto& field : type->fields)
      out.value(fmt::format("{}@{}:{}", field.name, field.offset, field.element_type));
  out.end_array();
}

Result<std::string> look(Target& target) {
  const auto start = TraceClock::now();
  const auto reader = TRY(open_dac_reader(target));
  const auto opened = ms_since(start);
  const auto threads = TRY(reader->threads());
  const auto listed = ms_since(start);
  const auto os_threads = TRY(target.threads());
  JsonWriter out;
  out.begin_object()
      .member("source", name_of(reader->source()))
      .member("version", reader->version());
  write_threads(out, *reader, threads, os_threads);
  const auto walked = ms_since(start);
  const auto locks = reader->sync_blocks();
  out.key("locks").begin_array();
  for (const auto& block : locks ? locks->known : std::vector<SyncBlock>{}) {
    if (!block.held && block.waiters == 0) continue;
    out.begin_object()
        .member("object", block.object)
        .member("held", block.held)
        .member("ownerOsId", block.owner_os_id)
        .member("ownerManagedId", block.owner_managed_id)
        .member("recursion", block.recursion)
        .member("waiters", block.waiters);
    write_type(out, target, *reader, block.object);
    out.end_object();
  }
  out.end_array().member("noLocks", locks ? "" : locks.error().what);
  out.member("locksUnread", locks ? locks->unread : 0);
  out.member("openMs", opened).member("threadsMs", listed).member("framesMs", walked);
  return std::move(out.end_object()).take();
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) return *code;
  if (argc < 2) return 3;
  const auto pid = parse_number(argv[1]);
  auto target = pid ? open_process(static_cast<pid_t>(*pid)) : open_core(argv[1]);
  if (!target) return log_error(target.error()), 1;
  const auto seen = look(**target);
  if (!seen) return log_error(seen.error()), 2;
  fmt::print("{}\n", *seen);
  return 0;
}
