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

namespace clrscope::analyze {
namespace {

using nettrace::Known;

constexpr std::size_t kMethodsShown = 5;

class Overview final : public Report {
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

  void write_members(JsonWriter& json) const override;
  Page page() const override;

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
  std::uint64_t cpu_samples_ = 0, switches_ = 0;
  LockWaitPairs lock_waits_;
  LockWaits contended_;
  OnlyCounted only_counted_{"exceptions"}, locks_only_counted_{"lock_waits"};
  TraceTime last_ = TraceTime::min();
};

std::vector<std::pair<std::string, std::string>> Overview::worth() const {
  std::vector<std::pair<std::string, std::string>> all;
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
                     fmt::format("{} for locks, {:.1f} ms in all{}", counted(lock_waits(), "wait"),
                                 ms(contended_.total),
                                 locks_only_counted_.recorded() ? " of those recorded" : ""));
  if (allocations_ > 0)
    all.emplace_back("allocations", fmt::format("{} sampled", count_text(allocations_)));
  if (jitted_ > 0) all.emplace_back("jit", counted(jitted_, "method") + " loaded");
  if (pool_ > 0) all.emplace_back("threadpool", counted(pool_, "change"));
  all.emplace_back("events", fmt::format("all {} by kind", count_text(events_)));
  return all;
}

void Overview::write_members(JsonWriter& json) const {
  json.member("events", events_)
      .member("bytes", bytes_)
      .member("startTime", iso8601(start_))
      .member("durationMs", ms(span_.length()))
      .member("samples", methods_.samples().all.count)
      .member("cpuSamples", cpu_samples_)
      .member("waits", switches_)
      .member("collections", collections_.all().size())
      .member("totalPauseMs", ms(collections_.paused()))
      .member("percentTimeInGc", gc_share())
      .member("exceptions", thrown())
      .member("contentions", lock_waits())
      .member("allocationSamples", allocations_)
      .member("methodsLoaded", jitted_);
  json.key("processes").begin_array();
  for (const auto& name : names_) json.value(name);
  json.end_array().key("runtimes").begin_array();
  for (const auto& version : runtimes_) json.value(version);
  json.end_array().key("reports").begin_array();
  for (const auto& [name, why] : worth())
    json.begin_object().member("name", name).member("holds", why).end_object();
  json.end_array();
}

Page Overview::page() const {
  Page page;
  std::string who = names_.empty() ? "A trace" : fmt::format("{}", fmt::join(names_, ", "));
  if (!runtimes_.empty()) who += fmt::format(", .NET {}", fmt::join(runtimes_, ", "));
  page.summary.push_back(
      fmt::format("{}: {:.1f} s from {}.", who, span_.seconds(), iso8601(start_)));
  page.summary.push_back(fmt::format("{} events, {}, {}.", count_text(events_),
                                     format_bytes(bytes_), losses_.text(events_)));
  const auto& samples = methods_.samples();
  if (samples.all.count > 0) {
    PageTable table{.title = "Most on top of the stack",
                    .columns = {">SELF", ">RUNNING", "METHOD", "MODULE"}};
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
  PageTable table{.title = "Worth asking", .columns = {"REPORT", "HOLDS"}};
  for (const auto& [name, why] : worth()) table.rows.push_back({name, why});
  page.tables.push_back(std::move(table));
  page.next = "Next: clrscope report FILE " + worth().front().first;
  return page;
}

}  // namespace

extern const ReportKind overview_report{
    .name = "overview",
    .summary = "what the trace holds, and what to ask next",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Overview>(options);
    },
};

}  // namespace clrscope::analyze
