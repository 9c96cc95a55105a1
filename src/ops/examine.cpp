#include "ops/examine.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <mutex>

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/proc.h"
#include "base/text.h"
#include "doctor/threads.h"
#include "inspect/rights.h"
#include "inspect/runtime_reader.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/agent_evidence.h"
#include "ops/async_stacks.h"
#include "ops/heap_watch.h"
#include "ops/process_facts.h"
#include "ops/recorded_evidence.h"
#include "ops/side_sessions.h"
#include "ops/snapshot_reader.h"

namespace clrscope::ops {
namespace {

using doctor::Evidence;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kUsualDuration{10};
constexpr milliseconds kStep{200};
constexpr std::chrono::seconds kBetweenMemory{1};
constexpr const char* kForeign =
    "the process is in another pid namespace: only its diagnostic port can be reached; share the "
    "pid namespace (shareProcessNamespace in a pod)";
constexpr int kPauseShare = 100;  // a snapshot may cost the process at most one part in so many

// What the findings asked for need together.
struct Sources {
  bool snapshots = false;
  bool recording = false;
  bool async = false;
  bool heap = false;
  SideWants side{};
};

Sources sources_for(const std::vector<doctor::Selected>& selected, nanoseconds duration) {
  Sources sources;
  for (const auto& one : selected) {
    const auto& needs = one.finding->needs;
    sources.async = sources.async || needs.async;
    sources.snapshots = sources.snapshots || needs.snapshots || needs.events_or_snapshots;
    sources.heap = sources.heap || needs.heap;
    sources.side.calls = sources.side.calls || needs.calls;
    sources.side.commands = sources.side.commands || needs.commands;
    sources.side.allocations = sources.side.allocations || needs.allocations;
    sources.recording = sources.recording || needs.events || needs.cpu || needs.events_or_snapshots;
  }
  sources.recording = sources.recording && duration >= std::chrono::seconds{1};
  sources.heap = sources.heap && duration >= std::chrono::seconds{1};
  return sources;
}

// What is asked for decides how long to watch: a deadlock shows in one snapshot.
nanoseconds usual_duration(const std::vector<doctor::Selected>& selected) {
  const bool watches = std::ranges::any_of(
      selected, [](const auto& one) { return one.finding->needs.least.count() > 0; });
  return watches ? nanoseconds{kUsualDuration} : nanoseconds{0};
}

std::string reason_of(const Error& error) {
  return error.hint.empty() ? error.what : fmt::format("{}; {}", error.what, error.hint);
}

// A program without a runtime is named as what it is: compiled ahead of time, or no .NET at all.
Failure no_patient(pid_t pid, const Error& why) {
  if (const auto process = inspect::open_process(pid))
    if (const auto runtime = inspect::open_runtime(**process);
        !runtime && runtime.error().code == Errc::kUnsupported)
      return fail(runtime.error());
  return fail(why);
}

// Who is examined, and how its events are had.
struct Patient {
  doctor::ProcessFacts facts{};
  TargetRequest target{};
  bool foreign = false;  // known by its port only: its pid is of another namespace
  TraceTime read{};      // when this was found out
};

// By the port that it listens to, or that it connected to.
Result<Patient> known_by_port(const TargetRequest& target, FactSource source) {
  if (target.diagnostic_port && TRY(parse_port(*target.diagnostic_port)).listens)
    return fail(Errc::kUsage, "doctor requires a process that is already running")
        .hint("use clrscope serve --diagnostic-port PATH,listen for processes that connect later");
  const auto found = TRY(find_target(target, std::chrono::seconds{5}, -1));
  Patient patient{.target = target, .foreign = found.process.foreign};
  if (patient.foreign) {
    patient.facts.pid = found.process.pid;
    if (auto environment = ipc::environment(*found.endpoint))
      add_environment(patient.facts, *std::move(environment));
  } else {
    patient.facts = process_facts(found.process.pid, source);
  }
  patient.facts.name = found.process.name;
  patient.facts.runtime = found.process.runtime;
  return patient;
}

// By its number also when its runtime cannot be talked to: its memory may be read all the same.
Result<Patient> find_patient(const TargetRequest& target, FactSource source) {
  if (target.uid || target.diagnostic_port) return known_by_port(target, source);
  if (!target.pid && !target.name)
    return fail(Errc::kUsage, "which process?")
        .hint("use -p PID, -n NAME or the path of a core file; clrscope ps lists the processes");
  const auto found =
      target.pid ? ipc::find_process(*target.pid) : ipc::find_process_named(*target.name);
  if (!found &&
      !(target.pid && process_exists(*target.pid) && found.error().code != Errc::kUnsupported))
    return target.pid ? no_patient(*target.pid, found.error()) : fail(found.error());
  const auto pid = found ? found->pid : *target.pid;
  Patient patient{.facts = process_facts(pid, source), .target = {.pid = pid}};
  if (!found) return patient;
  auto& facts = patient.facts;
  facts.name = found->name;
  facts.runtime = found->runtime;
  if (facts.runtime.empty() && found->reachable()) {
    constexpr milliseconds kPatience{500};
    if (const auto info =
            ipc::process_info(*ipc::connect_endpoint(found->socket, found->pid), kPatience))
      facts.runtime = info->runtime_version;
  }
  return patient;
}

// True when the user wants to stop.
bool wait_or_stop(std::span<const int> stop_fds, nanoseconds time) {
  std::vector<pollfd> fds;
  for (const int fd : stop_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  const auto whole = std::chrono::ceil<milliseconds>(std::max(time, nanoseconds{0}));
  return ::poll(fds.data(), fds.size(), static_cast<int>(whole.count())) > 0;
}

// Whether it stands still now.
std::optional<doctor::Standstill> standstill_of(pid_t pid) {
  const auto status = proc_status(pid);
  if (!status || (status->state != 'T' && status->state != 't')) return std::nullopt;
  auto facts = inspect::trace_facts(pid);
  return doctor::Standstill{.tracer = facts.tracer, .tracer_name = std::move(facts.tracer_name)};
}

void add_foreign(Evidence& evidence) {
  evidence.no_snapshots = evidence.no_proc = kForeign;
  evidence.notes.emplace_back(
      "its memory and CPU limits are unknown: only its diagnostic port is accessible");
}

// A process that has just started is not yet what it will be: soon read again.
bool is_fresh(const Patient& patient) {
  constexpr nanoseconds kLeast = std::chrono::seconds{10}, kMost = std::chrono::minutes{5};
  return TraceClock::now() - patient.read < std::clamp(patient.facts.up, kLeast, kMost);
}

// The one that was found the last time, with what changes all the time.
Result<Patient> find_again(std::optional<Patient>& known, const TargetRequest& target,
                           FactSource source) {
  if (!known || !is_fresh(*known)) {
    known = TRY(find_patient(target, source));
    known->read = TraceClock::now();
  }
  auto now = *known;
  if (now.foreign) return now;
  const auto status = TRY(proc_status(now.facts.pid));
  now.facts.up = status.age;
  if (status.rss_bytes > 0) now.facts.rss_bytes = status.rss_bytes;
  return now;
}

}  // namespace

struct Bedside::Kept {
  std::optional<Patient> patient{};
  std::optional<SnapshotReader> reader{};
  std::string note{};  // what cannot be seen with it
};

Bedside::Bedside() : kept_(std::make_unique<Kept>()) {}
Bedside::~Bedside() = default;
Bedside::Bedside(Bedside&&) noexcept = default;
Bedside& Bedside::operator=(Bedside&&) noexcept = default;

namespace {

class Visit {
 public:
  Visit(const ExamineRequest& request, const Patient& patient, const ExamineWatcher& watcher,
        nanoseconds duration, Bedside::Kept& kept)
      : request_(request),
        patient_(patient),
        watcher_(watcher),
        duration_(duration),
        reader_(kept.reader),
        reader_note_(kept.note) {}

  // Watches for the time given, or until the process ends or the user has seen enough.
  void watch(Evidence& evidence, const Sources& sources) {
    start_ = TraceClock::now();
    const auto still = patient_.foreign ? std::nullopt : standstill_of(evidence.process.pid);
    if (sources.side.any() && !still) side_.emplace(patient_.target, sources.side, duration_);
    if (sources.recording)
      recording_.emplace(patient_.target, duration_, request_.sampler, side_ ? &*side_ : nullptr);
    // An agent has one listener: the recording, where it takes the CPU samples.
    if (sources.recording && !patient_.foreign && !still && request_.sampler != Sampler::kAgent)
      agent_.emplace(evidence.process.pid);
    if (sources.heap && !patient_.foreign && !still) {
      heap_.emplace(evidence.process.pid, duration_,
                    request_.only.empty() ? HeapWatch::Price::kLittle : HeapWatch::Price::kAny,
                    stopping_);
    }
    if (patient_.foreign)
      add_foreign(evidence);
    else if (sources.snapshots)
      open_reader(evidence);
    if (still) evidence.no_async = "needs a running process, but it is stopped";
    const bool by_heap = heap_ && duration_.count() > 0;  // it makes the copies
    if (sources.async && !by_heap && duration_.count() > 0) take_async(evidence);
    auto next_snapshot = start_;
    auto next_memory = start_;
    for (;;) {
      if (!patient_.foreign && duration_.count() > 0 && TraceClock::now() >= next_memory) {
        add_memory(evidence);
        next_memory += kBetweenMemory;
      }
      if (reader_ && duration_.count() > 0 && TraceClock::now() >= next_snapshot)
        next_snapshot = snapshot_now(evidence);
      const auto elapsed = TraceClock::now() - start_;
      tell(evidence, elapsed, false);
      if (stopped_ || elapsed >= duration_) break;
      if (is_over(evidence)) {
        evidence.notes.push_back(fmt::format("it ended after {}", format_duration(elapsed)));
        reader_.reset();
        break;
      }
      const auto left = duration_ - elapsed;
      const auto until_snapshot = reader_ ? next_snapshot - TraceClock::now() : left;
      stopped_ =
          wait_or_stop(request_.stop_fds, std::min<nanoseconds>({kStep, left, until_snapshot}));
    }
    if (still) evidence.standstill = standstill_of(evidence.process.pid);
    if (!patient_.foreign) add_memory(evidence);
    if (evidence.process.web_server) evidence.process.listens = has_listener(evidence.process.pid);
    // The last one is what people are shown.
    if (reader_) take_last_snapshot(evidence);
    if (sources.async && !by_heap) take_async(evidence);
    evidence.watched = TraceClock::now() - start_;
    tell(evidence, evidence.watched, true);
    if (agent_) agent_->add_to(evidence);
    finish_heap(evidence);
    finish_recording(evidence);
  }

 private:
  // Of one in another pid namespace only its events tell.
  bool is_over(const Evidence& evidence) const {
    return patient_.foreign ? recording_ && recording_->done() : has_ended(evidence.process.pid);
  }

  void open_reader(Evidence& evidence) {
    if (!reader_) {
      auto reader = SnapshotReader::of_process(evidence.process.pid);
      if (!reader) {
        evidence.no_snapshots = reason_of(reader.error());
        return;
      }
      reader_.emplace(std::move(*reader));
      reader_note_.clear();
      if (const auto process = inspect::open_process(evidence.process.pid))
        if (const auto musl = inspect::unreadable_on_musl(**process))
          reader_note_ = "threads and locks without methods: " + musl->what;
    }
    if (!reader_note_.empty()) evidence.notes.push_back(reader_note_);
  }

  // When the next one is due: the dearer this one was for the process, the later.
  TraceTime snapshot_now(Evidence& evidence) {
    if (!take_snapshot(evidence, SnapshotReader::Detail::kThreads)) return TraceTime::max();
    const auto pause = evidence.snapshots.back().pause;
    const auto rest = std::max<nanoseconds>(request_.between_snapshots, pause * kPauseShare);
    return TraceClock::now() + rest;
  }

  bool take_snapshot(Evidence& evidence, SnapshotReader::Detail detail) {
    const std::lock_guard lock{stopping_};  // threads that stand still for a copy look stopped
    const auto at = TraceClock::now() - start_;
    auto snapshot = reader_->take(detail, request_.stop);
    if (!snapshot) {
      if (evidence.snapshots.empty()) evidence.no_snapshots = reason_of(snapshot.error());
      reader_.reset();
      return false;
    }
    evidence.snapshots.push_back(std::move(*snapshot));
    evidence.snapshot_times.push_back(at);
    return true;
  }

  // Who waits for a lock is unreadable while a collection moves it: a deadlock that the snapshot
  // before showed is looked for again.
  void take_last_snapshot(Evidence& evidence) {
    constexpr int kMostTries = 5;
    constexpr std::chrono::milliseconds kBetween{50};
    const auto cycles = evidence.snapshots.empty() ? 0 : evidence.snapshots.back().cycles.size();
    for (int tries = 1; take_snapshot(evidence, SnapshotReader::Detail::kLines); ++tries) {
      if (evidence.snapshots.back().cycles.size() >= cycles || tries == kMostTries) return;
      evidence.snapshots.pop_back();
      evidence.snapshot_times.pop_back();
      if (wait_or_stop(request_.stop_fds, kBetween)) stopped_ = true;
    }
  }

  // Each copies the process once, and pauses it for that.
  void take_async(Evidence& evidence) {
    if (patient_.foreign || !evidence.no_async.empty()) {
      if (evidence.no_async.empty()) evidence.no_async = kForeign;
      return;
    }
    const auto at = TraceClock::now();
    auto seen = read_async_stacks(evidence.process.pid);
    evidence.copies.push_back(TraceClock::now() - start_);
    if (!seen) {
      if (evidence.async.empty()) evidence.no_async = reason_of(seen.error());
      return;
    }
    if (!evidence.async.empty()) {
      seen->over = at - first_async_;
      inspect::mark_unchanged(*seen, evidence.async.front());
    } else {
      first_async_ = at;
    }
    evidence.async.push_back(std::move(*seen));
  }

  // What the kernel says of its memory now.
  void add_memory(Evidence& evidence) const {
    const auto status = proc_status(evidence.process.pid);
    if (!status || status->rss_bytes == 0) return;
    evidence.memory.push_back({.time = TraceClock::now() - start_,
                               .rss = status->rss_bytes,
                               .anonymous = status->anonymous_bytes,
                               .group = cgroup_memory_use(evidence.process.pid).value_or(0)});
  }

  void finish_heap(Evidence& evidence) {
    if (!heap_) return;
    if (stopped_ || is_over(evidence)) heap_->stop();
    auto seen = heap_->take();
    evidence.heap = std::move(seen.facts);
    for (const auto time : seen.copies) evidence.copies.push_back(time - start_);
    evidence.no_heap = seen.reason;
    if (evidence.async.empty()) {
      evidence.async = std::move(seen.async);
      evidence.no_async = std::move(seen.reason);
    }
    if (!seen.note.empty()) evidence.notes.push_back(std::move(seen.note));
  }

  void finish_recording(Evidence& evidence) {
    if (!recording_) return;
    if (stopped_ || is_over(evidence)) {
      if (side_) side_->stop();
    }
    if (stopped_) recording_->stop();
    auto recorded = recording_->take();
    if (side_) {
      side_->finish();
      side_->add_to(evidence);
    }
    evidence.events = std::move(recorded.events);
    evidence.cpu = std::move(recorded.cpu);
    evidence.no_events = std::move(recorded.no_events);
    evidence.no_cpu = std::move(recorded.no_cpu);
    evidence.silent = recorded.silent;
    evidence.cost = recorded.cost;
    std::ranges::move(recorded.notes, std::back_inserter(evidence.notes));
    if (evidence.events && !request_.messages)
      for (auto& type : evidence.events->thrown) type.message.clear();
  }

  void tell(const Evidence& evidence, nanoseconds elapsed, bool concluding) const {
    if (watcher_.on_status)
      watcher_.on_status({.elapsed = elapsed,
                          .whole = duration_,
                          .snapshots = evidence.snapshots.size(),
                          .events = recording_ ? recording_->events() : 0,
                          .concluding = concluding});
  }

  const ExamineRequest& request_;
  const Patient& patient_;
  const ExamineWatcher& watcher_;
  nanoseconds duration_;
  TraceTime start_{};
  TraceTime first_async_{};
  bool stopped_ = false;
  std::optional<SnapshotReader>& reader_;
  std::string& reader_note_;
  std::optional<SideSessions> side_;  // before the recording, which uses it
  std::optional<RecordedEvidence> recording_;
  std::optional<AgentEvidence> agent_;
  std::mutex stopping_;  // the process, for a copy
  std::optional<HeapWatch> heap_;
};

Result<Evidence> read_core(const std::string& path, const Sources& sources) {
  Evidence evidence{.live = false};
  auto reader = TRY(SnapshotReader::of_core(path));
  evidence.snapshots.push_back(TRY(reader.take(SnapshotReader::Detail::kLines)));
  evidence.snapshot_times.emplace_back();
  const auto& snapshot = evidence.snapshots.back();
  evidence.process = {.pid = snapshot.pid, .name = snapshot.name, .runtime = snapshot.runtime};
  if (!sources.async) return evidence;
  if (auto seen = read_async_stacks_of_core(path))
    evidence.async.push_back(std::move(*seen));
  else
    evidence.no_async = reason_of(seen.error());
  return evidence;
}

// What the last snapshot could not see, and the price of all of them.
void sum_up(const Evidence& evidence, doctor::Examination& examination) {
  examination.snapshots = evidence.snapshots.size();
  for (const auto& snapshot : evidence.snapshots) examination.paused += snapshot.pause;
  for (const auto& snapshot : evidence.async) examination.paused += snapshot.pause;
  if (evidence.heap) examination.paused += evidence.heap->paused;
  if (evidence.events) examination.lost = evidence.events->lost;
  examination.cost = evidence.cost;
  const auto* last = evidence.last_snapshot();
  if (!last) return;
  examination.source = last->source;
  if (examination.process.runtime.empty()) examination.process.runtime = last->runtime;
  if (doctor::start_held_by(evidence).empty())  // else there was nothing to see yet
    std::ranges::copy(last->notes, std::back_inserter(examination.notes));
}

}  // namespace

std::vector<std::string> quick_findings() {
  std::vector<std::string> ids;
  for (const auto* finding : findings()) {
    const auto& needs = finding->needs;
    if (!needs.events && !needs.cpu && !needs.heap && !needs.async && needs.least.count() == 0)
      ids.emplace_back(finding->id);
  }
  return ids;
}

Result<doctor::Examination> examine(const ExamineRequest& request, const ExamineWatcher& watcher,
                                    Bedside* bedside) {
  const auto start = TraceClock::now();
  const auto selected = TRY(doctor::select(request.only, request.settings));
  Evidence evidence;
  if (!request.core.empty()) {
    evidence = TRY(read_core(request.core, sources_for(selected, {})));
  } else {
    const auto duration = request.duration.value_or(usual_duration(selected));
    const bool files =
        std::ranges::any_of(selected, [](const auto& one) { return one.finding->needs.files; });
    Bedside of_this_one;
    auto& kept = (bedside ? *bedside : of_this_one).kept();
    const auto patient = TRY(find_again(kept.patient, request.target,
                                        files ? FactSource::kProcAndFiles : FactSource::kProc));
    auto sources = sources_for(selected, duration);
    sources.recording = sources.recording && request.recording;
    if (!sources.recording) sources.side = {};
    sources.side.generous = !request.only.empty();
    // Those who tell of their commands are not there: there is nothing to see.
    if (sources.side.commands && !sources.side.generous && !patient.foreign &&
        !patient.facts.database_client) {
      sources.side.commands = false;
      evidence.commands.emplace();
    }
    evidence.process = patient.facts;
    if (patient.foreign && !sources.recording)
      return fail(Errc::kUnsupported,
                  "only the diagnostic port of {} ({}) is accessible, and no events arrived",
                  patient.facts.name, patient.facts.pid)
          .hint("use --duration 1s or longer, or share the pid namespace");
    Visit{request, patient, watcher, duration, kept}.watch(evidence, sources);
    // Blind on every side is no "nothing found".
    const bool saw = !evidence.snapshots.empty() || evidence.events || evidence.cpu;
    if (!saw && !evidence.no_snapshots.empty() && !evidence.no_events.empty())
      return fail(Errc::kDenied, "cannot examine process {} ({}): {}", evidence.process.pid,
                  evidence.process.name, evidence.no_snapshots)
          .hint("its events are unavailable too: {}", evidence.no_events);
  }
  doctor::Examination examination{.process = evidence.process,
                                  .core = request.core,
                                  .taken = std::chrono::system_clock::now(),
                                  .watched = evidence.watched,
                                  .notes = evidence.notes};
  sum_up(evidence, examination);
  examination.diagnosis = doctor::diagnose(evidence, selected);
  examination.took = TraceClock::now() - start;
  return examination;
}

}  // namespace clrscope::ops
