#include "ops/agent_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ops/agent_listen.h"
#include "wire/heap.h"

namespace clrscope::ops {
namespace {

constexpr std::size_t kShownTypes = 30;
constexpr std::size_t kShownMethods = 15;

// Records are totals since the start: the newest of each name counts.
class ObjectCounter {
 public:
  void take(const void* bytes, std::uint32_t size) {
    using wire::RecordKind;
    for (const auto kind : {RecordKind::kObjectsAllocated, RecordKind::kObjectsMoved,
                            RecordKind::kCallsToNative, RecordKind::kCallsToManaged})
      if (const auto* record = wire::parse_record<wire::HeapType>(kind, bytes, size)) {
        auto& newest = totals_[{kind, record->type}];
        if (record->count >= newest.count) newest = {record->count, record->bytes};
      }
  }

  void fill(const collect::AgentArena& arena, const ObjectsRequest& request,
            AgentObjects& out) const {
    using wire::RecordKind;
    if (request.moved) {
      out.moved_ranges = 0;
      out.moved_bytes = 0;
    }
    std::map<std::string, HeapTypeSeen> types;
    std::map<std::string, std::uint64_t> native, managed;
    for (const auto& [key, total] : totals_) {
      const auto& [kind, slot] = key;
      auto name = arena.name(slot);
      if (name.empty()) name = "(unknown)";
      if (kind == RecordKind::kObjectsMoved) {
        out.moved_ranges = total.count;
        out.moved_bytes = total.bytes;
      } else if (kind == RecordKind::kCallsToNative) {
        native[name] += total.count;
      } else if (kind == RecordKind::kCallsToManaged) {
        managed[name] += total.count;
      } else {
        auto& type = types.try_emplace(name, HeapTypeSeen{.type = name}).first->second;
        type.count += total.count;
        type.bytes += total.bytes;
        out.objects += total.count;
        out.bytes += total.bytes;
        if (slot == wire::kNoName) out.uncounted += total.count;
      }
    }
    for (auto& [name, type] : types) out.types.push_back(std::move(type));
    std::ranges::stable_sort(out.types, std::greater{}, &HeapTypeSeen::bytes);
    if (!request.transitions) return;
    out.to_native = methods(native);
    out.to_managed = methods(managed);
  }

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  static std::vector<MethodCalls> methods(const std::map<std::string, std::uint64_t>& counted) {
    std::vector<MethodCalls> all;
    for (const auto& [name, calls] : counted) all.push_back({name, calls});
    std::ranges::stable_sort(all, std::greater{}, &MethodCalls::calls);
    return all;
  }

  std::map<std::pair<wire::RecordKind, std::uint32_t>, Total> totals_;
};

DocumentTable calls_table(std::string title, const std::vector<MethodCalls>& calls) {
  DocumentTable table{
      .title = std::move(title), .columns = {">CALLS", "METHOD"}, .keeps = "METHOD"};
  for (std::size_t i = 0; i < std::min(kShownMethods, calls.size()); ++i)
    table.rows.push_back({format_count(calls[i].calls), calls[i].method});
  return table;
}

}  // namespace

Result<AgentObjects> agent_objects(const ObjectsRequest& request) {
  if (request.listen.target.command.empty())
    return fail(Errc::kUnsupported, "objects can only be counted from the start of a process")
        .hint("use clrscope agent objects -- COMMAND; agent allocations works with -p PID");
  auto listen = request.listen;
  std::string features = "objects";
  if (request.moved) features += ",moved";
  if (request.transitions) features += ",transitions";
  listen.target.environment["CLRSCOPE_AGENT_START"] = features;
  ObjectCounter counter;
  AgentObjects seen;
  TRY(listen_to_agent(
      listen, wire::kSourceObjects,
      [&](const void* bytes, std::uint32_t size) { counter.take(bytes, size); },
      [&](const collect::AgentArena& arena, Heard heard) {
        seen.pid = heard.pid;
        seen.duration = heard.duration;
        seen.dropped = std::move(heard.dropped);
        seen.callback_time = heard.callback_time;
        counter.fill(arena, request, seen);
      }));
  return seen;
}

Document objects_document(const AgentObjects& seen) {
  Document page;
  page.summary.push_back(fmt::format("{} objects, {}, allocated in {}.", format_count(seen.objects),
                                     format_bytes(seen.bytes), format_duration(seen.duration)));
  if (seen.moved_ranges)
    page.summary.push_back(fmt::format("Collections moved {} in {} pieces.",
                                       format_bytes(*seen.moved_bytes),
                                       format_count(*seen.moved_ranges)));
  if (seen.uncounted > 0)
    page.summary.push_back(
        fmt::format("{} objects are of too many types to tell apart, and counted without size.",
                    format_count(seen.uncounted)));
  for (const auto& drop : seen.dropped)
    page.summary.push_back(fmt::format("Not recorded: {} {}.", drop.count, drop.reason));
  DocumentTable table{.columns = {">COUNT", ">BYTES", "TYPE"}, .keeps = "TYPE"};
  for (std::size_t i = 0; i < std::min(kShownTypes, seen.types.size()); ++i)
    table.rows.push_back(
        {format_count(seen.types[i].count), format_bytes(seen.types[i].bytes), seen.types[i].type});
  page.tables.push_back(std::move(table));
  if (seen.to_native)
    page.tables.push_back(calls_table("Calls from managed to native code", *seen.to_native));
  if (seen.to_managed)
    page.tables.push_back(calls_table("Calls from native to managed code", *seen.to_managed));
  return page;
}

const Shape& shape_of(const MethodCalls*) {
  using A = MethodCalls;
  static const auto shape = describe<A>("AgentMethodCalls", "calls of one method",
                                        {member<&A::method>("method", "name of the method"),
                                         member<&A::calls>("calls", "number of calls")});
  return shape;
}

const Shape& shape_of(const AgentObjects*) {
  using A = AgentObjects;
  static const auto shape = describe<A>(
      "AgentObjects", "every object that a command allocated, since its runtime started",
      {member<&A::pid>("pid", "process id"), member<&A::duration>("durationMs", "how long it ran"),
       member<&A::objects>("objects", "number of objects"),
       member<&A::bytes>("bytes", Unit::kBytes, "their size"),
       member<&A::uncounted>("uncounted", "objects of types beyond the limit of the table"),
       member<&A::types>("types", "the types, most bytes first"),
       member<&A::moved_ranges>("movedRanges", "pieces of memory that collections moved"),
       member<&A::moved_bytes>("movedBytes", Unit::kBytes, "their size"),
       member<&A::to_native>("toNative", "methods of native code that managed code called"),
       member<&A::to_managed>("toManaged", "methods of managed code that native code called"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::callback_time>("callbackMs",
                                 "time of other callbacks; counting objects is not part of it")});
  return shape;
}

}  // namespace clrscope::ops
