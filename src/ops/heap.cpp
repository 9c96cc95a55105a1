#include "ops/heap.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>

#include "base/io.h"
#include "base/text.h"
#include "gcdump/gcdump.h"
#include "inspect/headroom.h"
#include "inspect/heap/heap.h"
#include "inspect/runtime_reader.h"
#include "inspect/target.h"
#include "ops/async_stacks.h"
#include "ops/heap_from_port.h"
#include "ops/output.h"
#include "ops/output_file.h"
#include "ops/running_process.h"

namespace clrscope::ops {
namespace {

void step(const HeapWatcher& watcher, std::string_view text) {
  if (watcher.on_step) watcher.on_step(text);
}

Result<HeapSnapshot> read_from(inspect::Target& target, const HeapRequest& request,
                               const HeapWatcher& watcher) {
  step(watcher, "finding the runtime");
  const auto reader = TRY(inspect::open_runtime(target));
  step(watcher, "reading objects and references");
  auto heap = TRY(inspect::read_heap(target, *reader, {.equal_strings = request.strings}));
  if (heap.runtime.empty()) heap.runtime = reader->version();
  return heap;
}

enum class FileKind { kDump, kCore, kTrace };

Result<FileKind> kind_of(const std::string& path) {
  if (path == "-") return FileKind::kTrace;
  const auto file = TRY(open_for_reading(path));
  std::array<std::uint8_t, 256> first{};
  const auto got = ::pread(file.get(), first.data(), first.size(), 0);
  if (got < 0) return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
  const Bytes beginning{first.data(), static_cast<std::size_t>(got)};
  if (gcdump::is_gcdump(beginning)) return FileKind::kDump;
  const std::string_view text{reinterpret_cast<const char*>(first.data()), beginning.size()};
  using namespace std::string_view_literals;
  if (text.starts_with("\x7f"
                       "ELF"))
    return FileKind::kCore;
  if (text.starts_with("Nettrace") || text.starts_with("\x28\xb5\x2f\xfd"sv))
    return FileKind::kTrace;
  return fail(Errc::kCorrupt, "{} is not a heap snapshot", path)
      .hint("use a .gcdump, a core file, or a trace of the profile gcdump");
}

Result<HeapSnapshot> from_file(const HeapRequest& request, const HeapWatcher& watcher) {
  const auto& path = request.file;
  switch (TRY(kind_of(path))) {
    case FileKind::kCore: {
      const auto core = TRY(inspect::open_core(path));
      auto heap = TRY(read_from(*core, request, watcher));
      heap.source = HeapSource::kCore;
      if (heap.name.empty()) heap.name = path;
      return heap;
    }
    case FileKind::kTrace: {
      step(watcher, "reading events");
      auto heap = TRY(heap_from_trace(path));
      if (heap.name.empty()) heap.name = path;
      return heap;
    }
    case FileKind::kDump:
      break;
  }
  step(watcher, "reading the file");
  const auto file = TRY(open_for_reading(path));
  const auto text = TRY(read_open_file(file.get(), request.largest_file));
  auto heap =
      gcdump::read_gcdump({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  if (!heap)
    return fail(heap.error().code, "cannot read {}: {}", path, heap.error().what)
        .hint("{}", heap.error().hint);
  if (heap->name.empty()) heap->name = path;
  return heap;
}

// What a collection that walks the heap takes: dotnet-gcdump paused 0.8 to 1 s for 300 MB.
HeapPrice port_price(pid_t pid) {
  HeapPrice price{.source = HeapSource::kEvents};
  const auto status = read_file(fmt::format("/proc/{}/status", pid));
  const auto mb = status ? inspect::own_memory(*status) / 1'000'000 : 0;
  price.least_pause = std::chrono::milliseconds{20 + mb * 2};
  price.most_pause = std::chrono::milliseconds{200 + mb * 5};
  return price;
}

// The next rung: who may not read the memory may perhaps ask the runtime.
Result<HeapSnapshot> from_port(const TargetRequest& target, const RunningProcess& process,
                               const Error& why, const HeapWatcher& watcher) {
  if (watcher.on_price) watcher.on_price(process.name, process.pid, port_price(process.pid));
  step(watcher, "the runtime walks its heap");
  auto heap = heap_from_port(
      target, {.on_progress = [&](std::uint64_t objects) {
        step(watcher, fmt::format("the runtime walks its heap: {} objects", format_count(objects)));
      }});
  if (!heap)
    return fail(why.code, "{}; its diagnostic port failed too: {}", why.what, heap.error().what)
        .hint("{}", why.hint);
  heap->notes.insert(
      heap->notes.begin(),
      fmt::format("from the runtime's events, after a full collection: {}", why.what));
  if (!why.hint.empty()) heap->notes.insert(heap->notes.begin() + 1, "hint: " + why.hint);
  return heap;
}

Result<HeapSnapshot> from_twin(pid_t pid, const HeapRequest& request, const HeapWatcher& watcher) {
  step(watcher, "making a frozen copy");
  return read_twin(
      pid,
      [&](inspect::Twin& twin) -> Result<HeapSnapshot> {
        auto heap = TRY(read_from(*twin.target, request, watcher));
        TRY(inspect::check_names(heap));
        (void)twin.end();
        heap.source = HeapSource::kTwin;
        heap.pause = twin.cost.pause;
        if (!twin.between_collections)
          heap.notes.push_back(
              "whether a collection was under way is unknown: some objects may be wrong");
        return heap;
      },
      {.force = true});  // its price was checked before
}

// Refusals that the diagnostic port does not share.
bool port_may_help(const Error& error) {
  return error.code == Errc::kDenied || error.code == Errc::kUnsupported;
}

Result<HeapSnapshot> from_process(const HeapRequest& request, const HeapWatcher& watcher) {
  auto process = RunningProcess{};
  if (!request.target.uid) process = TRY(find_running(request.target, "heap"));
  if (process.pid == 0)
    return from_port(request.target, process,
                     Error{Errc::kDenied, "its memory cannot be read from here"}, watcher);
  const auto live = inspect::open_process(process.pid);
  if (!live && live.error().code == Errc::kDenied)
    return from_port(request.target, process, live.error(), watcher);
  if (!live) return fail(live.error());
  if (const auto unreadable = inspect::unreadable_on_musl(**live))
    return from_port(request.target, process, *unreadable, watcher);
  const auto price = TRY(inspect::twin_price(process.pid));
  if (const auto fits = inspect::check_headroom(process.pid, price); !fits && !request.force)
    return fail(fits.error().code,
                "a snapshot of process {} may not fit its memory limit: {} are left, {} may be "
                "needed",
                process.pid, format_bytes(price.room), format_bytes(price.needed))
        .hint("raise its memory limit, or use --force and risk that the process is killed");
  if (watcher.on_price)
    watcher.on_price(
        process.name, process.pid,
        {.least_pause = price.least_pause, .most_pause = price.most_pause, .memory = price.needed});
  auto heap = from_twin(process.pid, request, watcher);
  if (!heap && port_may_help(heap.error()))
    return from_port(request.target, process, heap.error(), watcher);
  if (!heap) return fail(heap.error());
  if (heap->name.empty()) heap->name = process.name;
  if (!process.runtime.empty()) heap->runtime = process.runtime;
  return heap;
}

}  // namespace

Result<HeapSnapshot> take_heap(const HeapRequest& request, const HeapWatcher& watcher) {
  const auto& target = request.target;
  const bool process =
      target.pid || target.name || target.diagnostic_port || target.uid || !target.command.empty();
  if (!request.file.empty() && process)
    return fail(Errc::kUsage, "more than one target")
        .hint("use a file, -p or -n, but only one of them");
  auto heap =
      TRY(request.file.empty() ? from_process(request, watcher) : from_file(request, watcher));
  TRY(analyze::check_graph(heap.graph));
  return heap;
}

bool is_gcdump_file(const std::string& path) {
  const auto kind = kind_of(path);
  return kind && *kind == FileKind::kDump;
}

Result<std::uint64_t> write_heap(const HeapSnapshot& heap, const std::string& path) {
  auto file = TRY(OutputFile::create(path));
  std::uint64_t bytes = 0;
  TRY(gcdump::write_gcdump(heap, [&](Bytes piece) {
    bytes += piece.size();
    return write_all(file.fd(), piece);
  }));
  TRY(file.commit());
  return bytes;
}

std::string heap_file_name(const std::string& wanted, const HeapSnapshot& heap) {
  return expand_output(wanted, Process{.pid = heap.pid, .name = heap.name, .user = ""}, ".gcdump");
}

}  // namespace clrscope::ops
