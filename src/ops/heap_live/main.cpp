// For tests/e2e/heap_*.case and bench/gcdump_bench.py: heaps from ports and files, without a verb.
//   heap_live port PID [FILE]       by the garbage collector's events; written to FILE
//   heap_live twin PID [FILE]       read from its memory
//   heap_live trace FILE.nettrace [FILE]
//   heap_live read FILE.gcdump [FILE]
//   heap_live make OBJECTS FILE     a made-up heap, written to FILE
// Prints what it is about as JSON: counts, sizes by type, times, our own memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>

#include "base/io.h"
#include "base/json.h"
#include "base/text.h"
#include "gcdump/gcdump.h"
#include "inspect/dac/worker.h"
#include "inspect/heap/heap.h"
#include "ops/heap_from_port.h"
#include "ops/output_file.h"

namespace {

using namespace clrscope;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<HeapSnapshot> read_dump(const std::string& path) {
  const auto file = TRY(read_file(path, std::size_t{4} << 30));
  return gcdump::read_gcdump(as_bytes(file));
}

Result<HeapSnapshot> read_memory(pid_t pid) {
  const auto twin = TRY(inspect::make_twin(pid));
  const auto reader = TRY(inspect::open_runtime(*twin.target));
  return inspect::read_heap(*twin.target, *reader, {});
}

Result<> write_dump(const HeapSnapshot& heap, const std::string& path) {
  auto file = TRY(ops::OutputFile::create(path));
  TRY(gcdump::write_gcdump(heap, [&](Bytes bytes) { return write_all(file.fd(), bytes); }));
  return file.commit();
}

// Trees of objects with two children each, and some arrays.
HeapSnapshot make_heap(std::uint32_t objects) {
  HeapSnapshot heap{.pid = 1, .name = "made"};
  auto& graph = heap.graph;
  for (int i = 0; i < 1000; ++i) graph.types.push_back({fmt::format("Shop.Type{}", i), "Shop", 0});
  std::mt19937 random{1};
  graph.first_edge.push_back(0);
  std::uint64_t address = 0x7f0000000000;
  for (std::uint32_t i = 0; i < objects; ++i) {
    const auto type = random() % 1000;
    const auto size = type < 100 ? 24 + 8 * (random() % 64) : 24 + 8 * (type % 8);
    graph.addresses.push_back(address);
    address += size;
    graph.type_of.push_back(static_cast<std::uint32_t>(type));
    graph.sizes.push_back(static_cast<std::uint32_t>(size));
    for (std::uint64_t child = 2 * std::uint64_t{i} + 1; child <= 2 * std::uint64_t{i} + 2; ++child)
      if (child < objects) graph.edges.push_back(static_cast<std::uint32_t>(child));
    if (random() % 4 == 0) graph.edges.push_back(static_cast<std::uint32_t>(random() % objects));
    graph.first_edge.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  }
  graph.root_names = {"Shop.Cart.s_all"};
  if (objects > 0) graph.roots.push_back({.object = 0, .kind = RootKind::kStatic});
  return heap;
}

void print(const HeapSnapshot& heap, double got_ms, double wrote_ms) {
  const auto& graph = heap.graph;
  struct Sum {
    std::uint64_t count = 0, bytes = 0;
  };
  std::vector<Sum> sums(graph.types.size());
  Sum all;
  for (std::uint32_t i = 0; i < graph.objects(); ++i)
    for (auto* sum : {&all, &sums[graph.type_of[i]]}) ++sum->count, sum->bytes += graph.size_of(i);
  std::map<std::string_view, std::uint64_t> roots;
  for (const auto& root : graph.roots)
    ++roots[names_of(RootKind{})[static_cast<std::size_t>(root.kind)]];
  JsonWriter out;
  out.begin_object().member("objects", all.count).member("bytes", all.bytes);
  out.member("references", graph.edges.size()).member("unresolved", heap.unresolved_edges);
  out.member("runtime", heap.runtime).member("name", heap.name).member("pid", heap.pid);
  out.member("pauseMs", std::chrono::duration<double, std::milli>(heap.pause).count());
  out.member("gotMs", got_ms).member("wroteMs", wrote_ms);
  if (const auto status = read_file("/proc/self/status"))
    for (const auto line : split(*status, '\n'))
      if (line.starts_with("VmHWM:"))
        out.member("rssBytes",
                   parse_number(trim(line.substr(6, line.size() - 9))).value_or(0) * 1024);
  out.key("notes").begin_array();
  for (const auto& note : heap.notes) out.value(note);
  out.end_array().key("segments").begin_array();
  for (const auto& segment : heap.segments)
    out.begin_object()
        .member("generation", names_of(HeapGeneration{})[static_cast<int>(segment.generation)])
        .member("objects", segment.objects)
        .member("bytes", segment.object_bytes)
        .end_object();
  out.end_array().key("roots").begin_object();
  for (const auto& [kind, count] : roots) out.member(kind, count);
  out.end_object().key("statics").begin_array();
  for (const auto& root : graph.roots)
    if (root.kind == RootKind::kStatic) out.value(graph.root_names[root.name]);
  out.end_array().key("types").begin_array();
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (sums[i].count > 0)
      out.begin_object()
          .member("type", graph.types[i].name)
          .member("module", graph.types[i].module)
          .member("id", graph.types[i].id)
          .member("count", sums[i].count)
          .member("bytes", sums[i].bytes)
          .end_object();
  out.end_array().end_object();
  fmt::print("{}\n", out.text());
}

Result<HeapSnapshot> get(const std::string& what, const std::string& from) {
  if (what == "trace") return ops::heap_from_trace(from);
  if (what == "read") return read_dump(from);
  const auto number = parse_number(from);
  if (!number) return fail(Errc::kUsage, "{} is not a number", from);
  if (what == "make") return make_heap(static_cast<std::uint32_t>(*number));
  const auto pid = static_cast<pid_t>(*number);
  return what == "twin" ? read_memory(pid) : ops::heap_from_port({.pid = pid});
}

Result<> run(const std::string& what, const std::string& from, const std::string& to) {
  auto start = Clock::now();
  const auto heap = TRY(get(what, from));
  const auto got_ms = ms_since(start);
  start = Clock::now();
  if (!to.empty()) TRY(write_dump(heap, to));
  print(heap, got_ms, to.empty() ? 0 : ms_since(start));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = inspect::dac_worker_main(argc, argv)) return *code;
  if (argc < 3) {
    fmt::print(stderr, "usage: heap_live port|twin|trace|read|make WHAT [FILE]\n");
    return 3;
  }
  if (const auto done = run(argv[1], argv[2], argc > 3 ? argv[3] : ""); !done) {
    fmt::print(stderr, "heap_live: {}\n  hint: {}\n", done.error().what, done.error().hint);
    return 1;
  }
  return 0;
}
