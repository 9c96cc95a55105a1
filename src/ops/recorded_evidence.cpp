#include "ops/recorded_evidence.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/temp_file.h"
#include "base/text.h"
#include "doctor/trace_evidence.h"
#include "hub/counter.h"
#include "model/provider_names.h"
#include "nettrace/payload.h"
#include "ops/output.h"
#include "ops/plan.h"
#include "ops/portless.h"
#include "ops/process_from.h"
#include "ops/record.h"
#include "ops/record_machine.h"
#include "ops/trace_file.h"

namespace clrscope::ops {
namespace {

// Collections, exceptions, lock waits, the pool, and the names of methods.
constexpr std::string_view kKeywordsAndLevel = "0x1c019:4";
// CPU samples a second: enough for shares of a hot path, a fifth of what a recording costs.
constexpr unsigned kRate = 199;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 29;

// Counters of the runtime and of its HTTP client, each second. At level 1 and without keywords
// their sources write no other events.
constexpr std::string_view kCounters = "{}:0x0:1:EventCounterIntervalSec=1";

// The values of EventCounters, by provider and name.
class CounterFacts {
 public:
  void on_batch(const analyze::TraceReader& reader, const analyze::TraceBatch& batch) {
    for (const Event& event : batch.events) {
      if (event.type->name != "EventCounters") continue;
      if (!plans_) plans_.emplace(reader.info() ? reader.info()->pointer_size : 8);
      const auto value = decoder_.decode(event, plans_->of(event));
      if (!value || facts_.size() >= kMost) continue;
      auto& fact = facts_[fmt::format("{}/{}", value->provider, value->name)];
      fact.values.push_back(hub::shown_value(*value));
      fact.count += value->count;
      fact.sum += value->value * static_cast<double>(value->count);
    }
  }
  std::map<std::string, doctor::CounterFact> take() { return std::move(facts_); }

 private:
  static constexpr std::size_t kMost = 1000;
  hub::CounterDecoder decoder_;
  std::optional<nettrace::PayloadPlans> plans_;
  std::map<std::string, doctor::CounterFact> facts_;
};

std::string reason_of(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{}; {}", error.what, error.hint);
}

// The kernel's part alone, of a process whose runtime cannot be asked.
Result<RecordSummary> record_samples(const RecordRequest& request,
                                     const ipc::DotnetProcess& process,
                                     const RecordWatcher& watcher) {
  const auto plan =
      TRY(plan_recording({.profiles = request.providers.profiles}, perf_grant(process.pid)));
  if (!plan.kernel) return fail(process.unreachable);
  Target target{.process = process_from(process), .endpoint = nullptr};
  RecordSummary summary{.file = "-", .process = target.process, .outcome = {}};
  return record_with_kernel(request, plan, target, {}, std::move(summary), request.output_fd,
                            watcher);
}

}  // namespace

RecordedEvidence::RecordedEvidence(TargetRequest target, std::chrono::nanoseconds duration,
                                   Sampler sampler, SideSessions* side)
    : target_(std::move(target)),
      sampler_(sampler),
      duration_(duration),
      side_(side),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

RecordedEvidence::~RecordedEvidence() { stop(); }

void RecordedEvidence::stop() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
}

Recorded RecordedEvidence::take() {
  if (thread_.joinable()) thread_.join();
  return std::move(recorded_);
}

void RecordedEvidence::run() {
  const auto begun = TraceClock::now();
  // Without a name: nothing is left behind when we are killed.
  const auto file = open_temp_file(folder_of("-"));
  auto recorded = file ? record(file->get()) : fail(file.error());
  if (!recorded) {
    recorded_.no_events = recorded_.no_cpu = reason_of(recorded.error());
    if (recorded.error().code == Errc::kTimeout) recorded_.silent = TraceClock::now() - begun;
  }
  done_ = true;
}

Result<> RecordedEvidence::record(int file) {
  const int stop_fds[] = {stop_.get()};
  const RecordRequest request{
      .target = target_,
      .providers = {.profiles = "cpu-sampling",
                    .providers = {fmt::format("{}:{}", kRuntimeProvider, kKeywordsAndLevel),
                                  fmt::format(kCounters, kSystemRuntimeProvider),
                                  fmt::format(kCounters, kHttpProvider)},
                    .by_name = false},
      .output_fd = file,
      .duration = duration_,
      .max_size = kMostBytes,
      .rate = kRate,
      .sampler = sampler_,
      .kernel_names = false,  // the hot path shows the callers
      .stop_fds = stop_fds,
  };
  const RecordWatcher watcher{
      .on_plan =
          [&](const Plan& plan) {
            if (!plan.note.empty()) recorded_.notes.push_back(plan.note);
          },
      .on_status = [&](const collect::StreamStatus& status) { seen_ = status.events; },
  };
  const auto begun = TraceClock::now();
  const auto portless = process_without_port(request.target);
  const auto summary =
      TRY(portless ? record_samples(request, *portless, watcher) : ops::record(request, watcher));
  recorded_.cost = summary.program_cost;
  std::ranges::copy(summary.notes, std::back_inserter(recorded_.notes));
  if (side_) side_->finish();
  doctor::TraceEvidence evidence;
  CounterFacts counters;
  TRY(read_trace(fmt::format("/proc/self/fd/{}", file),
                 {
                     .on_batch =
                         [&](const auto& reader, const auto& batch) {
                           evidence.on_batch(reader, batch);
                           counters.on_batch(reader, batch);
                           if (side_) side_->on_names(batch);
                         },
                     .on_end = [&](const auto& reader) { evidence.end_of_trace(reader); },
                 }));
  if (evidence.told()) {
    recorded_.events = evidence.events();
    recorded_.events->counters = counters.take();
  } else if (portless) {
    recorded_.no_events = reason_of(portless->unreachable);
  } else {
    recorded_.silent = TraceClock::now() - begun;
    recorded_.no_events = "its runtime did not answer";
  }
  recorded_.cpu = std::move(evidence).cpu();
  if (!recorded_.cpu) recorded_.no_cpu = "no thread ran while it was watched";
  if (summary.outcome.ending == collect::Ending::kNoAnswer)
    recorded_.notes.push_back("its runtime stopped answering: events end early");
  return {};
}

}  // namespace clrscope::ops
