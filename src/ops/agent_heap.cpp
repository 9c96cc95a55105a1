#include "ops/agent_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/proc.h"
#include "base/text.h"
#include "ops/agent_listen.h"
#include "ops/agent_place.h"
#include "wire/heap.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kAnswer{5};
constexpr std::chrono::seconds kWalkAnswer{40};
constexpr std::size_t kShownReferences = 15;
constexpr int kFirstWithEnumeration = 15;  // version of ICorProfilerInfo

class HeapCounter {
 public:
  void take(const void* bytes, std::uint32_t size) {
    if (const auto* type =
            wire::parse_record<wire::HeapType>(wire::RecordKind::kHeapType, bytes, size))
      types_.push_back(*type);
    else if (const auto* edge =
                 wire::parse_record<wire::HeapEdge>(wire::RecordKind::kHeapEdge, bytes, size))
      edges_.push_back(*edge);
    else if (const auto* end =
                 wire::parse_record<wire::HeapEnd>(wire::RecordKind::kHeapEnd, bytes, size))
      end_ = *end;
  }
  const std::optional<wire::HeapEnd>& end() const { return end_; }

  void fill(const collect::AgentArena& arena, bool references, AgentHeap& out) const {
    // Two types may have one name: of two versions of an assembly, for example.
    std::map<std::string, HeapTypeSeen> types;
    for (const auto& one : types_) {
      auto name = name_of(arena, one.type);
      auto& seen = types.try_emplace(name, HeapTypeSeen{.type = name}).first->second;
      seen.count += one.count;
      seen.bytes += one.bytes;
    }
    for (auto& [name, type] : types) out.types.push_back(std::move(type));
    std::ranges::stable_sort(out.types, std::greater{}, &HeapTypeSeen::bytes);
    if (!references) return;
    auto& all = out.references.emplace();
    std::map<std::pair<std::string, std::string>, std::uint64_t> merged;
    for (const auto& one : edges_)
      merged[{name_of(arena, one.from), name_of(arena, one.to)}] += one.count;
    for (const auto& [pair, count] : merged) all.push_back({pair.first, pair.second, count});
    std::ranges::stable_sort(all, std::greater{}, &HeapReferencesSeen::count);
  }

 private:
  static std::string name_of(const collect::AgentArena& arena, std::uint32_t slot) {
    auto name = arena.name(slot);
    return name.empty() ? "(unknown)" : name;
  }

  std::vector<wire::HeapType> types_;
  std::vector<wire::HeapEdge> edges_;
  std::optional<wire::HeapEnd> end_;
};

}  // namespace

nanoseconds expected_heap_pause(std::uint64_t bytes, bool by_events, bool references) {
  // Measured with a million objects in 66 MB, on busy processors: 72 to 164 ms, 212 to 416 with
  // references, 266 to 626 by events. A small heap takes the time to stop the threads.
  constexpr double kNsPerByte = 1.5;
  constexpr std::chrono::milliseconds kWalk{5}, kEvents{30};
  const auto factor = by_events ? 4.0 : references ? 3.0 : 1.0;
  return (by_events ? kEvents : kWalk) +
         nanoseconds{static_cast<std::int64_t>(static_cast<double>(bytes) * kNsPerByte * factor)};
}

Result<AgentHeap> agent_heap(const AgentHeapRequest& request) {
  auto target = TRY(find_target(request.target, std::chrono::seconds{5}, -1));
  std::optional<LoadedAgent> loaded{TRY(load_agent(target))};
  const AgentVisit visit{loaded};
  auto& connection = loaded->connection;
  auto arena = TRY(connection.open_arena(Deadline{kAnswer}));
  const auto status = TRY(connection.demand(wire::RequestKind::kHello, 0, Deadline{kAnswer}));
  // The runtime does not tell how large its heap is: it cannot be larger than the memory that the
  // process has for itself.
  AgentHeapPrice price{.bytes = TRY(proc_status(target.process.pid)).anonymous_bytes,
                       .by_events = status.info < kFirstWithEnumeration};
  if (price.by_events && request.references)
    return fail(Errc::kUnsupported,
                "--references requires .NET 9 or later; process {} runs .NET {}",
                target.process.pid, status.runtime_major)
        .hint("use clrscope heap -p {}, which reads references from outside", target.process.pid);
  price.pause = expected_heap_pause(price.bytes, price.by_events, request.references);
  if (request.on_price) request.on_price(price);
  if (price.pause > request.longest_pause)
    return fail(Errc::kTooLarge, "a walk over up to {} of heap may pause the process for {}",
                format_bytes(price.bytes), format_duration(price.pause))
        .hint("use --max-pause to permit it, or clrscope heap, which pauses it only for a copy");

  AgentHeap seen{.pid = target.process.pid, .expected_pause = price.pause};
  HeapCounter counter;
  (void)TRY(connection.demand(wire::RequestKind::kHeap,
                              request.references ? wire::kHeapReferences : 0U,
                              Deadline{kWalkAnswer}));
  arena.drain([&](const void* bytes, std::uint32_t size) { counter.take(bytes, size); });
  if (!counter.end()) return fail(Errc::kSystem, "the agent did not tell the end of the heap");
  const auto& end = *counter.end();
  seen.source = end.source == wire::HeapSource::kEvents ? "events" : "walk";
  seen.objects = end.objects;
  seen.bytes = end.bytes;
  seen.pause = arena.duration_of(end.pause_ticks);
  seen.uncounted = end.uncounted;
  counter.fill(arena, request.references, seen);
  seen.dropped = drops_of(arena);
  return seen;
}

Document agent_heap_document(const AgentHeap& seen, std::size_t rows) {
  Document page;
  page.summary.push_back(fmt::format("{} objects, {}; the process was paused for {}.",
                                     format_count(seen.objects), format_bytes(seen.bytes),
                                     format_duration(seen.pause)));
  page.summary.emplace_back(seen.source == "events"
                                ? "Objects that a full garbage collection found alive."
                                : "All objects of the heap, also those that nobody refers to.");
  if (seen.uncounted > 0)
    page.summary.push_back(
        fmt::format("{} objects are of too many types to count.", format_count(seen.uncounted)));
  for (const auto& drop : seen.dropped)
    page.summary.push_back(fmt::format("Not recorded: {} {}.", drop.count, drop.reason));
  DocumentTable table{.columns = {">COUNT", ">BYTES", "TYPE"}, .keeps = "TYPE"};
  for (std::size_t i = 0; i < std::min(rows, seen.types.size()); ++i)
    table.rows.push_back(
        {format_count(seen.types[i].count), format_bytes(seen.types[i].bytes), seen.types[i].type});
  if (rows < seen.types.size())
    table.note = fmt::format("{} more types", format_count(seen.types.size() - rows));
  page.tables.push_back(std::move(table));
  if (!seen.references) return page;
  DocumentTable edges{.title = "References", .columns = {">COUNT", "FROM", "TO"}, .keeps = "TO"};
  for (std::size_t i = 0; i < std::min(kShownReferences, seen.references->size()); ++i) {
    const auto& one = (*seen.references)[i];
    edges.rows.push_back({format_count(one.count), one.from, one.to});
  }
  page.tables.push_back(std::move(edges));
  return page;
}

const Shape& shape_of(const HeapTypeSeen*) {
  using A = HeapTypeSeen;
  static const auto shape = describe<A>("AgentHeapType", "objects of one type",
                                        {member<&A::type>("type", "name of the type"),
                                         member<&A::count>("count", "number of objects"),
                                         member<&A::bytes>("bytes", Unit::kBytes, "their size")});
  return shape;
}

const Shape& shape_of(const HeapReferencesSeen*) {
  using A = HeapReferencesSeen;
  static const auto shape =
      describe<A>("AgentHeapReferences", "references from objects of one type to those of another",
                  {member<&A::from>("from", "type of the objects that refer"),
                   member<&A::to>("to", "type of the objects that they refer to"),
                   member<&A::count>("count", "number of references")});
  return shape;
}

const Shape& shape_of(const AgentHeap*) {
  using A = AgentHeap;
  static const auto shape = describe<A>(
      "AgentHeap", "objects of the heap by type, counted inside the process",
      {member<&A::pid>("pid", "process id"),
       member<&A::source>("source",
                          "walk: all objects; events: those that a full collection found alive"),
       member<&A::objects>("objects", "number of objects"),
       member<&A::bytes>("bytes", Unit::kBytes, "their size"),
       member<&A::expected_pause>("expectedPauseMs", "pause that was announced"),
       member<&A::pause>("pauseMs", "how long the process was paused"),
       member<&A::uncounted>("uncounted", "objects of types beyond the limit of the table"),
       member<&A::types>("types", "the types, most bytes first"),
       member<&A::references>("references", "with --references: which types refer to which"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason")});
  return shape;
}

}  // namespace clrscope::ops
