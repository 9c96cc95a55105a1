// Garbage collections: pauses by generation and cause, heap sizes, share of the time.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/collections.h"
#include "analyze/process_names.h"
#include "analyze/report.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;

struct Pauses {
  std::uint64_t count = 0;
  nanoseconds total{};
  nanoseconds longest{};

  void add(const Collection& gc) {
    ++count;
    grow(total, gc.pause.value_or(nanoseconds{0}));
    longest = std::max(longest, gc.longest_pause);
  }
};

void write_heap(JsonWriter& json, const nettrace::GcHeapStats& heap) {
  json.key("heapAfter")
      .begin_object()
      .member("gen0Bytes", heap.size[0])
      .member("gen1Bytes", heap.size[1])
      .member("gen2Bytes", heap.size[2])
      .member("lohBytes", heap.size[3])
      .member("pohBytes", heap.size[4])
      .member("totalBytes", heap.total_size());
  std::uint64_t promoted = 0;
  for (const auto bytes : heap.promoted) promoted += bytes;
  json.member("promotedBytes", promoted)
      .member("pinnedObjects", heap.pinned_objects)
      .member("gcHandles", heap.handles)
      .end_object();
}

void write_optional_ms(JsonWriter& json, std::string_view name, std::optional<nanoseconds> time) {
  json.key(name);
  if (time)
    json.value(ms(*time));
  else
    json.null();
}

class Gc final : public Report {
 public:
  explicit Gc(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    const auto pointer_size = reader.info() ? reader.info()->pointer_size : 8;
    for (const Event& event : batch.events) {
      const auto provider = providers_.of(*event.type);
      if (provider != Provider::kRundown) span_.on_event(event.time);
      names_.on_event(event);
      collections_.on_event(event, known_.of(*event.type), pointer_size);
    }
  }
  void end_of_trace(const nettrace::Reader& reader) override {
    collections_.end_of_trace(reader);
    span_.end_of_trace(reader);
    known_.forget();
    providers_.forget();
    names_.end_of_trace();
  }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  double share(nanoseconds paused) const {
    return span_.length().count() == 0 ? 0 : 100 * ms(paused) / ms(span_.length());
  }
  bool of_several() const {
    const auto& all = collections_.all();
    return std::ranges::any_of(all, [&](const auto& gc) { return gc.process != all[0].process; });
  }
  std::string who(ProcessId process) const { return names_.who(process); }
  nanoseconds paused(ProcessId process) const {
    const auto& all = collections_.paused_by_process();
    const auto found = all.find(process);
    return found == all.end() ? nanoseconds{0} : found->second;
  }
  PageTable processes() const;
  template <class Key>
  auto grouped(Key&& key) const {
    std::map<decltype(key(std::declval<const Collection&>())), Pauses> groups;
    for (const auto& gc : collections_.all()) groups[key(gc)].add(gc);
    return groups;
  }
  std::vector<const Collection*> longest_first() const {
    std::vector<const Collection*> all;
    for (const auto& gc : collections_.all()) all.push_back(&gc);
    std::stable_sort(all.begin(), all.end(),
                     [](auto* a, auto* b) { return a->longest_pause > b->longest_pause; });
    return all;
  }

  ReportOptions options_;
  KnownEvents known_;
  Providers providers_;
  Collections collections_;
  TraceSpan span_;
  ProcessNames names_;
};

void Gc::write_members(JsonWriter& json) const {
  json.key("collections").begin_array();
  for (const auto& gc : collections_.all()) {
    json.begin_object()
        .member("pid", static_cast<std::int32_t>(gc.process))
        .member("number", gc.number)
        .member("generation", gc.generation)
        .member("reason", value_name("GCReason", gc.reason))
        .member("type", value_name("GCType", gc.type))
        .member("startMs", ms(gc.start));
    write_optional_ms(json, "pauseMs", gc.pause);
    json.member("longestPauseMs", ms(gc.longest_pause)).member("restartMs", ms(gc.restarts));
    write_optional_ms(json, "durationMs", gc.duration);
    if (gc.heap_after) write_heap(json, *gc.heap_after);
    json.end_object();
  }
  json.end_array()
      .member("totalPauseMs", ms(collections_.paused()))
      .member("durationMs", ms(span_.length()))
      .member("percentTimeInGc", share(collections_.most_paused()));
  json.key("byProcess").begin_array();
  for (const auto& [process, pauses] : grouped([](const Collection& gc) { return gc.process; }))
    json.begin_object()
        .member("pid", static_cast<std::int32_t>(process))
        .member("count", pauses.count)
        .member("pauseMs", ms(paused(process)))
        .member("longestPauseMs", ms(pauses.longest))
        .member("percentTimeInGc", share(paused(process)))
        .end_object();
  json.end_array();
  json.key("byGeneration").begin_array();
  for (const auto& [generation, pauses] :
       grouped([](const Collection& gc) { return gc.generation; }))
    json.begin_object()
        .member("generation", generation)
        .member("count", pauses.count)
        .member("pauseMs", ms(pauses.total))
        .member("longestPauseMs", ms(pauses.longest))
        .end_object();
  json.end_array().key("byReason").begin_array();
  for (const auto& [reason, pauses] : grouped([](const Collection& gc) { return gc.reason; }))
    json.begin_object()
        .member("reason", value_name("GCReason", reason))
        .member("count", pauses.count)
        .member("pauseMs", ms(pauses.total))
        .member("longestPauseMs", ms(pauses.longest))
        .end_object();
  json.end_array();
}

PageTable Gc::processes() const {
  PageTable table{.title = "By process",
                  .columns = {">SHARE", ">COUNT", ">PAUSED", ">LONGEST", "PROCESS"}};
  const auto groups = grouped([](const Collection& gc) { return gc.process; });
  std::vector<ProcessId> ranked;
  for (const auto& [process, pauses] : groups) ranked.push_back(process);
  std::ranges::stable_sort(ranked, [&](ProcessId a, ProcessId b) { return paused(a) > paused(b); });
  for (const auto process : ranked) {
    const auto& pauses = groups.at(process);
    table.rows.push_back({fmt::format("{:.1f} %", share(paused(process))), count_text(pauses.count),
                          ms_text(paused(process)), ms_text(pauses.longest), who(process)});
  }
  return table;
}

Page Gc::page() const {
  const auto& all = collections_.all();
  if (all.empty())
    return {.summary = {"No garbage collection in this trace."},
            .next = "Record with them: clrscope collect -p PID --profile gc-collect"};
  const auto ranked = longest_first();
  const auto& worst = *ranked.front();
  Page page;
  const bool several = of_several();
  if (several)
    page.summary.push_back(fmt::format(
        "{} collections in several processes; the one paused longest spent {:.1f} % of {:.1f} s in "
        "GC.",
        count_text(all.size()), share(collections_.most_paused()), span_.seconds()));
  else
    page.summary.push_back(fmt::format(
        "{:.1f} % of the time in GC: {} collection{} paused the program for {:.1f} ms of {:.1f} s.",
        share(collections_.paused()), count_text(all.size()), all.size() == 1 ? "" : "s",
        ms(collections_.paused()), span_.seconds()));
  page.summary.push_back(fmt::format("Longest pause {}: #{}, generation {}, {}{}.",
                                     ms_text(worst.longest_pause), worst.number, worst.generation,
                                     value_name("GCReason", worst.reason),
                                     several ? ", in " + who(worst.process) : ""));
  if (several)
    page.tables.push_back(processes());
  else if (all.back().heap_after)
    page.summary.push_back(fmt::format("Heap after the last one: {}.",
                                       format_bytes(all.back().heap_after->total_size())));

  PageTable causes{.title = "By generation and cause",
                   .columns = {">GEN", ">COUNT", ">PAUSED", ">MEAN", ">LONGEST", "CAUSE"}};
  for (const auto& [key, pauses] : grouped([](const Collection& gc) {
         return std::pair{gc.generation, gc.reason};
       }))
    causes.rows.push_back({fmt::format("{}", key.first), count_text(pauses.count),
                           ms_text(pauses.total),
                           ms_text(pauses.total / static_cast<std::int64_t>(pauses.count)),
                           ms_text(pauses.longest), value_name("GCReason", key.second)});
  page.tables.push_back(std::move(causes));

  PageTable longest{
      .title = "Longest pauses",
      .columns = {">NUMBER", ">AT", ">GEN", ">PAUSE", ">HEAP AFTER", "CAUSE", "KIND"}};
  if (several) longest.columns.push_back("PROCESS");
  const auto rows = std::min(ranked.size(), options_.rows != 0 ? options_.rows : 10);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& gc = *ranked[i];
    longest.rows.push_back(
        {fmt::format("#{}", gc.number), fmt::format("{:.3f} s", ms(gc.start) / 1000),
         fmt::format("{}", gc.generation), gc.pause ? ms_text(gc.longest_pause) : "?",
         gc.heap_after ? format_bytes(gc.heap_after->total_size()) : "?",
         value_name("GCReason", gc.reason), value_name("GCType", gc.type)});
    if (several) longest.rows.back().push_back(who(gc.process));
  }
  if (rows < ranked.size())
    longest.note = fmt::format("{} more: -n {}", count_text(ranked.size() - rows), ranked.size());
  page.tables.push_back(std::move(longest));
  return page;
}

}  // namespace

extern const ReportKind gc_report{
    .name = "gc",
    .summary = "garbage collections: pauses, causes, heap sizes",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Gc>(options);
    },
};

}  // namespace clrscope::analyze
