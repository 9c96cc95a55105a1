// What the heap reader says of a process (by a frozen twin) or a core, as JSON, for tests:
// `inspect_heap PID|CORE [--no-references] [--strings]`.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "inspect/dac/worker.h"
#include "inspect/heap/heap.h"

namespace {

using namespace clrscope;
using namespace clrscope::inspect;

double in_ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void write_types(JsonWriter& out, const HeapGraph& graph) {
  struct Total {
    std::uint64_t count = 0, bytes = 0;
  };
  std::vector<Total> totals(graph.types.size());
  for (std::uint32_t i = 0; i < graph.objects(); ++i) {
    ++totals[graph.type_of[i]].count;
    totals[graph.type_of[i]].bytes += graph.size_of(i);
  }
  std::map<std::string, Total> by_name;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    auto& total = by_name[graph.types[i].name];
    total.count += totals[i].count;
    total.bytes += totals[i].bytes;
  }
  out.key("types").begin_object();
  for (const auto& [name, total] : by_name)
    out.key(name)
        .begin_object()
        .member("count", total.count)
        .member("bytes", total.bytes)
        .end_object();
  out.end_object();
}

void write_segments(JsonWriter& out, const std::vector<HeapSegment>& segments) {
  out.key("segments").begin_array();
  for (const auto& one : segments)
    out.begin_object()
        .member("generation", names_of(one.generation)[static_cast<std::size_t>(one.generation)])
        .member("heap", one.heap)
        .member("start", fmt::format("{:x}", one.start))
        .member("bytes", one.end - one.start)
        .member("committed", one.committed)
        .member("objects", one.objects)
        .member("objectBytes", one.object_bytes)
        .member("freeBytes", one.free_bytes)
        .member("largestFree", one.largest_free)
        .end_object();
  out.end_array();
}

void write_roots(JsonWriter& out, const HeapGraph& graph) {
  out.key("roots").begin_array();
  for (const auto& root : graph.roots)
    out.begin_object()
        .member("kind", names_of(root.kind)[static_cast<std::size_t>(root.kind)])
        .member("name", graph.root_names[root.name])
        .member("type", graph.types[graph.type_of[root.object]].name)
        .end_object();
  out.end_array();
}

// Objects that a root leads to.
std::vector<bool> reachable(const HeapGraph& graph) {
  std::vector<bool> seen(graph.objects());
  std::vector<std::uint32_t> open;
  const auto visit = [&](std::uint32_t object) {
    if (!seen[object]) seen[object] = true, open.push_back(object);
  };
  for (const auto& root : graph.roots) visit(root.object);
  while (!open.empty()) {
    const auto object = open.back();
    open.pop_back();
    for (const auto to : graph.referred_by(object)) visit(to);
  }
  return seen;
}

void write_reachable(JsonWriter& out, const HeapGraph& graph) {
  const auto seen = reachable(graph);
  std::map<std::string, std::uint64_t> by_name;
  for (std::uint32_t i = 0; i < graph.objects(); ++i)
    if (seen[i]) ++by_name[graph.types[graph.type_of[i]].name];
  out.member("reachableObjects", std::ranges::count(seen, true));
  out.key("reachable").begin_object();
  for (const auto& [name, count] : by_name) out.member(name, count);
  out.end_object();
}

std::string answer(const HeapSnapshot& heap, bool references) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < heap.graph.objects(); ++i) bytes += heap.graph.size_of(i);
  JsonWriter out;
  out.begin_object()
      .member("runtime", heap.runtime)
      .member("server", heap.server_gc)
      .member("objects", heap.graph.objects())
      .member("bytes", bytes)
      .member("edges", heap.graph.edges.size())
      .member("unreadBytes", heap.unread_bytes)
      .member("unresolvedEdges", heap.unresolved_edges)
      .member("pauseMs", in_ms(heap.pause))
      .member("tookMs", in_ms(heap.took))
      .member("peakKb", used.ru_maxrss);
  if (heap.finalizable) out.member("finalizable", *heap.finalizable);
  if (heap.to_finalize) out.member("toFinalize", *heap.to_finalize);
  write_types(out, heap.graph);
  write_segments(out, heap.segments);
  if (references) {
    write_roots(out, heap.graph);
    write_reachable(out, heap.graph);
  }
  out.key("handles").begin_object();
  for (const auto& handle : heap.handles) out.member(handle.kind, handle.count);
  out.end_object().key("equalStrings").begin_array();
  for (const auto& one : heap.equal_strings)
    out.begin_object()
        .member("value", one.value)
        .member("length", one.length)
        .member("count", one.count)
        .member("bytes", one.bytes)
        .end_object();
  out.end_array().key("notes").begin_array();
  for (const auto& note : heap.notes) out.value(note);
  return std::move(out.end_array().end_object()).take();
}

Result<HeapSnapshot> look(const char* what, const HeapOptions& options) {
  const auto pid = parse_number(what);
  Twin twin;
  if (pid)
    twin = TRY(make_twin(static_cast<pid_t>(*pid)));
  else
    twin.target = TRY(open_core(what));
  const auto reader = TRY(open_runtime(*twin.target));
  auto heap = TRY(read_heap(*twin.target, *reader, options));
  heap.pause = twin.cost.pause;
  return heap;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) return *code;
  if (argc < 2) return 3;
  HeapOptions options;
  for (int i = 2; i < argc; ++i) {
    const std::string_view word{argv[i]};
    if (word == "--no-references")
      options.references = false;
    else if (word == "--strings")
      options.equal_strings = true;
    else
      return 3;
  }
  const auto heap = look(argv[1], options);
  if (!heap) return log_error(heap.error()), 2;
  fmt::print("{}\n", answer(*heap, options.references));
  return 0;
}
