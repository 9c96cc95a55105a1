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

struct GcCollection {
  ProcessId pid{};
  std::uint32_t number = 0;
  std::uint32_t generation = 0;
  std::string reason{};
  std::string type{};
  nanoseconds start{};
  OrNull<nanoseconds> pause{};
  nanoseconds longest_pause{};
  nanoseconds restart{};
  OrNull<nanoseconds> duration{};
  std::optional<HeapSizes> heap_after{};
};
const Shape& shape_of(const GcCollection*) {
  using C = GcCollection;
  static const auto shape = describe<C>(
      "GcCollection", "garbage collection",
      {member<&C::pid>("pid", "process id"),
       member<&C::number>("number", "number of the collection in its process"),
       member<&C::generation>("generation", "oldest generation collected"),
       member<&C::reason>("reason", "runtime's reason for the collection"),
       member<&C::type>("type", "blocking, background or foreground collection"),
       member<&C::start>("startMs", "start, since the trace began"),
       member<&C::pause>("pauseMs", "time all threads were paused; null when not in the trace"),
       member<&C::longest_pause>("longestPauseMs", "longest of its pauses"),
       member<&C::restart>("restartMs", "time to restart threads, after the pauses"),
       member<&C::duration>("durationMs", "duration; null when its end is not in the trace"),
       member<&C::heap_after>("heapAfter", "sizes of the heap afterwards")});
  return shape;
}

struct GcPauses {
  std::uint64_t count = 0;
  nanoseconds paused{};
  nanoseconds longest{};
};
const Shape& shape_of(const GcPauses*) {
  static const auto shape =
      describe<GcPauses>("GcPauses", "pauses of a group of garbage collections",
                         {member<&GcPauses::count>("count", "number of collections"),
                          member<&GcPauses::paused>("pauseMs", "total pause time"),
                          member<&GcPauses::longest>("longestPauseMs", "longest pause")});
  return shape;
}

struct GcProcess {
  ProcessId pid{};
  std::string name{};
  GcPauses pauses{};
  double percent = 0;
};
const Shape& shape_of(const GcProcess*) {
  static const auto shape = describe<GcProcess>(
      "GcProcess", "garbage collections of one process",
      {member<&GcProcess::pid>("pid", "process id"),
       member<&GcProcess::name>("name", "process name"), members_of<&GcProcess::pauses>(),
       member<&GcProcess::percent>("timeInGcPercent", Unit::kPercent,
                                   "share of the time it was paused")});
  return shape;
}

struct GcGeneration {
  std::uint32_t generation = 0;
  GcPauses pauses{};
};
const Shape& shape_of(const GcGeneration*) {
  static const auto shape = describe<GcGeneration>(
      "GcGeneration", "garbage collections of one generation",
      {member<&GcGeneration::generation>("generation", "oldest generation collected"),
       members_of<&GcGeneration::pauses>()});
  return shape;
}

struct GcReason {
  std::string reason{};
  GcPauses pauses{};
};
const Shape& shape_of(const GcReason*) {
  static const auto shape = describe<GcReason>(
      "GcReason", "garbage collections with one reason",
      {member<&GcReason::reason>("reason", "runtime's reason for the collections"),
       members_of<&GcReason::pauses>()});
  return shape;
}

struct GcAnswer {
  std::vector<GcCollection> collections{};
  nanoseconds paused{};
  nanoseconds duration{};
  double percent = 0;
  std::vector<GcProcess> by_process{};
  std::vector<GcGeneration> by_generation{};
  std::vector<GcReason> by_reason{};
};
const Shape& shape_of(const GcAnswer*) {
  using A = GcAnswer;
  static const auto shape = describe<A>(
      "GcReport", "garbage collections and their pauses",
      {member<&A::collections>("collections", "collections by process and start"),
       member<&A::paused>("totalPauseMs", "total pause time of all processes"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::percent>("timeInGcPercent", Unit::kPercent,
                           "share of time paused, of the process with the longest pauses"),
       member<&A::by_process>("byProcess", "collections of each process"),
       member<&A::by_generation>("byGeneration", "collections by generation"),
       member<&A::by_reason>("byReason", "collections by reason")});
  return shape;
}

class Gc final : public ReportOf<GcAnswer> {
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

  GcAnswer result() const override;
  Document page() const override;

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
  DocumentTable processes() const;
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

GcAnswer Gc::result() const {
  GcAnswer answer{.paused = collections_.paused(),
                  .duration = span_.length(),
                  .percent = share(collections_.most_paused())};
  for (const auto& gc : collections_.all()) {
    auto& told = answer.collections.emplace_back(GcCollection{
        .pid = gc.process,
        .number = gc.number,
        .generation = gc.generation,
        .reason = value_name("GCReason", gc.reason),
        .type = value_name("GCType", gc.type),
        .start = gc.start,
        .pause = gc.pause,
        .longest_pause = gc.longest_pause,
        .restart = gc.restarts,
        .duration = gc.duration,
    });
    if (gc.heap_after) told.heap_after = heap_sizes(*gc.heap_after);
  }
  for (const auto& [process, pauses] : grouped([](const Collection& gc) { return gc.process; }))
    answer.by_process.push_back({.pid = process,
                                 .name = names_.name(process),
                                 .pauses = {pauses.count, paused(process), pauses.longest},
                                 .percent = share(paused(process))});
  for (const auto& [generation, pauses] :
       grouped([](const Collection& gc) { return gc.generation; }))
    answer.by_generation.push_back({generation, {pauses.count, pauses.total, pauses.longest}});
  for (const auto& [reason, pauses] : grouped([](const Collection& gc) { return gc.reason; }))
    answer.by_reason.push_back(
        {value_name("GCReason", reason), {pauses.count, pauses.total, pauses.longest}});
  return answer;
}

DocumentTable Gc::processes() const {
  DocumentTable table{.title = "By process",
                      .columns = {">SHARE", ">COUNT", ">PAUSED", ">LONGEST", "PROCESS"}};
  const auto groups = grouped([](const Collection& gc) { return gc.process; });
  std::vector<ProcessId> ranked;
  for (const auto& [process, pauses] : groups) ranked.push_back(process);
  std::ranges::stable_sort(ranked, [&](ProcessId a, ProcessId b) { return paused(a) > paused(b); });
  for (const auto process : ranked) {
    const auto& pauses = groups.at(process);
    table.rows.push_back({fmt::format("{:.1f} %", share(paused(process))), count_text(pauses.count),
                          format_duration(paused(process)), format_duration(pauses.longest),
                          who(process)});
  }
  return table;
}

Document Gc::page() const {
  const auto& all = collections_.all();
  if (all.empty())
    return {.summary = {"No garbage collection in this trace."},
            .next = "Record with them: clrscope collect -p PID --profile gc-collect"};
  const auto ranked = longest_first();
  const auto& worst = *ranked.front();
  Document page;
  const bool several = of_several();
  if (several)
    page.summary.push_back(fmt::format(
        "{} collections in several processes; the one paused longest spent {:.1f} % of {} in "
        "GC.",
        count_text(all.size()), share(collections_.most_paused()),
        format_duration(span_.length())));
  else
    page.summary.push_back(fmt::format(
        "{:.1f} % of the time in GC: {} collection{} paused the program for {} of {}.",
        share(collections_.paused()), count_text(all.size()), all.size() == 1 ? "" : "s",
        format_duration(collections_.paused()), format_duration(span_.length())));
  page.summary.push_back(fmt::format("Longest pause {}: #{}, generation {}, {}{}.",
                                     format_duration(worst.longest_pause), worst.number,
                                     worst.generation, value_name("GCReason", worst.reason),
                                     several ? ", in " + who(worst.process) : ""));
  if (several)
    page.tables.push_back(processes());
  else if (all.back().heap_after)
    page.summary.push_back(fmt::format("Heap after the last one: {}.",
                                       format_bytes(all.back().heap_after->total_size())));

  DocumentTable causes{.title = "By generation and cause",
                       .columns = {">GEN", ">COUNT", ">PAUSED", ">MEAN", ">LONGEST", "CAUSE"}};
  for (const auto& [key, pauses] : grouped([](const Collection& gc) {
         return std::pair{gc.generation, gc.reason};
       }))
    causes.rows.push_back({fmt::format("{}", key.first), count_text(pauses.count),
                           format_duration(pauses.total),
                           format_duration(pauses.total / static_cast<std::int64_t>(pauses.count)),
                           format_duration(pauses.longest), value_name("GCReason", key.second)});
  page.tables.push_back(std::move(causes));

  DocumentTable longest{
      .title = "Longest pauses",
      .columns = {">NUMBER", ">AT", ">GEN", ">PAUSE", ">HEAP AFTER", "CAUSE", "KIND"}};
  if (several) longest.columns.push_back("PROCESS");
  const auto rows = std::min(ranked.size(), options_.rows != 0 ? options_.rows : 10);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& gc = *ranked[i];
    longest.rows.push_back(
        {fmt::format("#{}", gc.number), fmt::format("{:.3f} s", ms(gc.start) / 1000),
         fmt::format("{}", gc.generation), gc.pause ? format_duration(gc.longest_pause) : "?",
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

extern const ReportKind gc_report =
    report_kind<Gc>("gc", "garbage collections: pauses, causes, heap sizes");

}  // namespace clrscope::analyze
