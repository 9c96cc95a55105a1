// What a trace holds, in short, and which reports on it are worth asking for.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyze/collections.h"
#include "analyze/contention.h"
#include "analyze/losses.h"
#include "analyze/method_times.h"
#include "analyze/process_names.h"
#include "analyze/report.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;

constexpr std::size_t kMethodsShown = 5;

struct AvailableReport {
  std::string name{};
  std::string contents{};
};
const Shape& shape_of(const AvailableReport*) {
  static const auto shape =
      describe<AvailableReport>("AvailableReport", "report that has data for a trace",
                                {member<&AvailableReport::name>("name", "name of the report"),
                                 member<&AvailableReport::contents>("contents", "what it shows")});
  return shape;
}

struct OverviewAnswer {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  WallTime start{};
  std::chrono::nanoseconds duration{};
  std::uint64_t samples = 0;
  std::uint64_t cpu_samples = 0;
  std::uint64_t waits = 0;
  std::uint64_t collections = 0;
  std::chrono::nanoseconds paused{};
  double gc_percent = 0;
  std::uint64_t exceptions = 0;
  std::uint64_t contentions = 0;
  std::uint64_t allocation_samples = 0;
  std::uint64_t methods_loaded = 0;
  std::vector<std::string> processes{};
  std::vector<std::string> runtimes{};
  std::vector<AvailableReport> reports{};
};
const Shape& shape_of(const OverviewAnswer*) {
  using A = OverviewAnswer;
  static const auto shape = describe<A>(
      "OverviewReport", "summary of a trace",
      {member<&A::events>("events", "number of events"),
       member<&A::bytes>("bytes", Unit::kBytes, "size of the trace"),
       member<&A::start>("startTime", "start of the trace"),
       member<&A::duration>("durationMs", "duration of the trace"),
       member<&A::samples>("samples", "number of stack samples"),
       member<&A::cpu_samples>("cpuSamples", "CPU samples taken by the kernel or the agent"),
       member<&A::waits>("waits", "waits of threads recorded by the kernel"),
       member<&A::collections>("collections", "number of garbage collections"),
       member<&A::paused>("totalPauseMs", "total time they paused all processes"),
       member<&A::gc_percent>("timeInGcPercent", Unit::kPercent,
                              "share of time paused, of the process with the longest pauses"),
       member<&A::exceptions>("exceptions", "number of exceptions thrown"),
       member<&A::contentions>("contentions", "number of waits for locks"),
       member<&A::allocation_samples>("allocationSamples", "number of sampled allocations"),
       member<&A::methods_loaded>("methodsLoaded", "number of methods loaded"),
       member<&A::processes>("processes", "names and ids of processes"),
       member<&A::runtimes>("runtimes", "versions of .NET runtimes"),
       member<&A::reports>("reports", "available reports, the most useful first")});
  return shape;
}

class Overview final : public ReportOf<OverviewAnswer> {
 public:
  explicit Overview(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    const auto pointer_size = reader.info() ? reader.info()->pointer_size : 8;
    for (const Event& event : batch.events) {
      const auto provider = providers_.of(*event.type);
      if (provider != Provider::kRundown) {
        span_.on_event(event.time);
        last_ = std::max(last_, event.time);
      }
      if (provider == Provider::kOther) {
        if (event.type->provider == kRequestsProvider && event.type->name == "Request") ++requests_;
        if (auto name = process_name(event))
          names_.insert(fmt::format("{} ({})", *name, static_cast<std::int32_t>(event.process)));
        continue;
      }
      if (provider == Provider::kUniversalEvents) {
        if (event.type->name == "cpu") ++cpu_samples_;
        if (event.type->name == "cswitch") ++switches_;
        only_counted_.on_event(reader, event);
        if (locks_only_counted_.on_event(reader, event)) lock_waits_.forget(event.process);
        continue;
      }
      if (auto version = runtime_version(event, provider)) runtimes_.insert(std::move(*version));
      const auto known = known_.of(*event.type);
      if (known == Known::kNone) continue;
      collections_.on_event(event, known, pointer_size);
      if (!reader.info() || !reader.info()->only_names(event.time))
        count(event, known, pointer_size);
    }
    methods_.on_batch(reader, batch);
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    collections_.end_of_trace(reader);
    for (const auto& wait : lock_waits_.take_open(last_)) contended_.add(wait.time);
    only_counted_.end_of_trace();
    locks_only_counted_.end_of_trace();
    last_ = TraceTime::min();
    methods_.end_of_trace();
    span_.end_of_trace(reader);
    const auto& summary = reader.summary();
    events_ += summary.events;
    losses_.end_of_trace(reader);
    bytes_ += summary.bytes;
    if (const auto* info = reader.info())
      if (const auto start = info->wall_of(info->begin()); start_ == WallTime{} || start < start_)
        start_ = start;
    known_.forget();
    providers_.forget();
  }

  OverviewAnswer result() const override;
  Document page() const override;

 private:
  void count(const Event& event, Known known, std::uint32_t pointer_size) {
    switch (known) {
      case Known::kException:
        ++exceptions_;
        only_counted_.on_recorded(event);
        break;
      case Known::kContentionStart:
        locks_only_counted_.on_recorded(event);
        if (const auto start = nettrace::read_as<nettrace::ContentionStart>(event, pointer_size))
          lock_waits_.begin(event, *start, StackId::kNone);
        break;
      case Known::kContentionStop:
        contended_.add(
            lock_waits_.end(event, nettrace::read_as<nettrace::ContentionStop>(event, pointer_size))
                .time);
        break;
      case Known::kMethodLoad:
        ++jitted_;
        break;
      case Known::kAllocationTick:
      case Known::kAllocationSampled:
        ++allocations_;
        break;
      case Known::kWorkerAdjustment:
      case Known::kWorkerStart:
        ++pool_;
        break;
      default:
        break;
    }
  }
  std::uint64_t thrown() const { return exceptions_ + only_counted_.count(); }
  std::uint64_t lock_waits() const { return contended_.count + locks_only_counted_.count(); }
  double gc_share() const {
    return span_.length().count() == 0 ? 0
                                       : 100 * ms(collections_.most_paused()) / ms(span_.length());
  }
  // The report, and why one would want it.
  std::vector<std::pair<std::string, std::string>> worth() const;

  ReportOptions options_;
  KnownEvents known_;
  Providers providers_;
  MethodTimes methods_;
  Collections collections_;
  TraceSpan span_;
  std::set<std::string> names_;
  std::set<std::string> runtimes_;
  WallTime start_{};
  std::uint64_t events_ = 0, bytes_ = 0;
  Losses losses_;
  std::uint64_t exceptions_ = 0, jitted_ = 0, allocations_ = 0, pool_ = 0;
  std::uint64_t cpu_samples_ = 0, switches_ = 0, requests_ = 0;
  LockWaitPairs lock_waits_;
  LockWaits contended_;
  OnlyCounted only_counted_{"exceptions"}, locks_only_counted_{"lock_waits"};
  TraceTime last_ = TraceTime::min();
};

std::vector<std::pair<std::string, std::string>> Overview::worth() const {
  std::vector<std::pair<std::string, std::string>> all;
  if (requests_ > 0) all.emplace_back("requests", counted(requests_, "profiled request"));
  if (cpu_samples_ > 0) all.emplace_back("cpu", counted(cpu_samples_, "processor sample"));
  if (switches_ > 0) all.emplace_back("waits", counted(switches_, "wait"));
  if (cpu_samples_ + switches_ > 0) all.emplace_back("threads", "what each thread did");
  if (const auto samples = methods_.samples().all.count - methods_.by_kernel(); samples > 0)
    all.emplace_back("topn", counted(samples, "stack sample"));
  if (!collections_.all().empty())
    all.emplace_back("gc", fmt::format("{}, {:.1f} % of the time{}",
                                       counted(collections_.all().size(), "collection"), gc_share(),
                                       collections_.paused_by_process().size() > 1
                                           ? " of the process paused longest"
                                           : ""));
  if (thrown() > 0) all.emplace_back("exceptions", fmt::format("{} thrown", count_text(thrown())));
  if (lock_waits() > 0)
    all.emplace_back("contention",
                     fmt::format("{} for locks, {} in total{}", counted(lock_waits(), "wait"),
                                 format_duration(contended_.total),
                                 locks_only_counted_.recorded() ? " of those recorded" : ""));
  if (allocations_ > 0)
    all.emplace_back("allocations", fmt::format("{} sampled", count_text(allocations_)));
  if (jitted_ > 0) all.emplace_back("jit", counted(jitted_, "method") + " loaded");
  if (pool_ > 0) all.emplace_back("threadpool", counted(pool_, "change"));
  all.emplace_back("events", fmt::format("all {} by kind", count_text(events_)));
  return all;
}

OverviewAnswer Overview::result() const {
  OverviewAnswer answer{.events = events_,
                        .bytes = bytes_,
                        .start = start_,
                        .duration = span_.length(),
                        .samples = methods_.samples().all.count,
                        .cpu_samples = cpu_samples_,
                        .waits = switches_,
                        .collections = collections_.all().size(),
                        .paused = collections_.paused(),
                        .gc_percent = gc_share(),
                        .exceptions = thrown(),
                        .contentions = lock_waits(),
                        .allocation_samples = allocations_,
                        .methods_loaded = jitted_,
                        .processes = {names_.begin(), names_.end()},
                        .runtimes = {runtimes_.begin(), runtimes_.end()}};
  for (const auto& [name, contents] : worth()) answer.reports.push_back({name, contents});
  return answer;
}

Document Overview::page() const {
  Document page;
  std::string who = names_.empty() ? "A trace" : fmt::format("{}", fmt::join(names_, ", "));
  if (!runtimes_.empty()) who += fmt::format(", .NET {}", fmt::join(runtimes_, ", "));
  page.summary.push_back(
      fmt::format("{}: {} from {}.", who, format_duration(span_.length()), iso8601(start_)));
  page.summary.push_back(fmt::format("{} events, {}, {}.", count_text(events_),
                                     format_bytes(bytes_), losses_.text(events_)));
  const auto& samples = methods_.samples();
  if (samples.all.count > 0) {
    DocumentTable table{.title = "Most on top of the stack",
                        .columns = {">SELF", ">RUNNING", "METHOD", "MODULE"},
                        .keeps = "METHOD"};
    const auto ids = methods_.ranked(false);
    const auto rows = std::min(ids.size(), options_.rows != 0 ? options_.rows : kMethodsShown);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto& frame = methods_.frames().frame(ids[i]);
      const auto& self = methods_.times()[static_cast<std::size_t>(ids[i])].self;
      table.rows.push_back({share_text(self.all.ns, samples.all.ns),
                            share_text(self.running.ns, self.all.ns), frame.method, frame.module});
    }
    page.tables.push_back(std::move(table));
  }
  DocumentTable table{.title = "Available reports", .columns = {"REPORT", "CONTENTS"}};
  for (const auto& [name, why] : worth()) table.rows.push_back({name, why});
  page.tables.push_back(std::move(table));
  page.next = "Next: clrscope report FILE " + worth().front().first;
  return page;
}

}  // namespace

extern const ReportKind overview_report =
    report_kind<Overview>("overview", "contents of the trace, and which reports to run next");

}  // namespace clrscope::analyze
