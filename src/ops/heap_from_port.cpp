#include "ops/heap_from_port.h"

#include "analyze/heap_events.h"
#include "base/text.h"
#include "collect/eventpipe/stream_recorder.h"
#include "model/provider_names.h"
#include "ops/trace_file.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kWaitForRuntime{60};
constexpr std::uint64_t kModuleNames = 0x8;  // Loader, of a rundown

// .NET 8 cannot leave stacks out, and writes its whole rundown or none, though only modules are
// wanted.
ipc::SessionConfig session_config(const Process& process, const PortHeapOptions& options) {
  const auto major = parse_number(process.runtime.substr(0, process.runtime.find('.'))).value_or(0);
  return {.buffer_mb = options.buffer_mb,
          .rundown_keyword = major >= 9 ? kModuleNames : ipc::kDefaultRundown,
          .stacks = major < 9,
          .providers = {{.name = std::string{kRuntimeProvider},
                         .keywords = analyze::kHeapWalkKeywords,
                         .level = ipc::Level::kVerbose}}};
}

Failure unfinished(const Target& target, const collect::StreamOutcome& outcome,
                   const PortHeapOptions& options, bool begun) {
  const auto& name = target.process.name;
  if (outcome.ending != collect::Ending::kAsked)
    return fail(Errc::kGone, "{} ended, or its runtime stopped answering, before its heap was read",
                name);
  if (outcome.stopped_by != collect::StopReason::kDuration)
    return fail(Errc::kTimeout, "stopped before the heap of {} was read", name);
  return fail(Errc::kTimeout, "the garbage collection that reads the heap of {} {} within {}", name,
              begun ? "did not end" : "did not start", format_duration(options.patience))
      .hint("the process may be stopped or stuck: clrscope stacks -p {}", target.process.pid);
}

}  // namespace

Result<HeapSnapshot> heap_from_port(const TargetRequest& request, const PortHeapOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  auto target = TRY(
      find_target(request, std::min<std::chrono::nanoseconds>(options.patience, kWaitForRuntime),
                  options.stop_fds.empty() ? -1 : options.stop_fds[0]));
  const auto& process = target.process;
  auto session = TRY(ipc::start_tracing(*target.endpoint, session_config(process, options)));
  analyze::HeapEvents events;
  const auto outcome = TRY(collect::record_stream({
      .runtime = *target.endpoint,
      .session = std::move(session),
      .pid = process.foreign ? 0 : process.pid,
      .write = [](Bytes) -> Result<> { return {}; },
      .limits = {.duration = options.patience},
      .stop_fds = options.stop_fds,
      .on_status =
          [&](const collect::StreamStatus&) {
            if (options.on_progress) options.on_progress(events.objects());
          },
      .on_batch =
          [&](const nettrace::Batch& batch, const nettrace::Reader& reader) {
            events.on_batch(reader, batch);
            return events.complete();
          },
  }));
  if (!events.complete()) return unfinished(target, outcome, options, events.begun());
  auto heap = TRY(std::move(events).finish(outcome.summary.lost));
  heap.pid = process.pid;
  heap.name = process.name;
  if (!process.runtime.empty()) heap.runtime = process.runtime;
  heap.notes.insert(heap.notes.begin(),
                    "by the garbage collector's events: nested types and static fields are named "
                    "without their class, and objects that nothing refers to are missing");
  heap.took = std::chrono::steady_clock::now() - began;
  return heap;
}

Result<HeapSnapshot> heap_from_trace(const std::string& path) {
  const auto began = std::chrono::steady_clock::now();
  analyze::HeapEvents events;
  const auto read = TRY(read_trace(
      path,
      {.on_batch = [&](const auto& reader, const auto& batch) { events.on_batch(reader, batch); },
       .on_end = [](const auto&) {}}));
  auto heap = TRY(std::move(events).finish(read.summary.lost));
  if (const auto damage = damage_line(read); !damage.empty()) heap.notes.push_back(damage);
  heap.took = std::chrono::steady_clock::now() - began;
  return heap;
}

}  // namespace clrscope::ops
