#include "ops/examine.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/clock.h"
#include "base/proc.h"
#include "base/text.h"
#include "doctor/threads.h"
#include "inspect/rights.h"
#include "inspect/runtime_reader.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/looks.h"
#include "ops/process_facts.h"
#include "ops/recorded_evidence.h"

namespace clrscope::ops {
namespace {

using doctor::Evidence;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kUsualDuration{10};
constexpr milliseconds kStep{200};
constexpr std::chrono::seconds kBetweenLooks{1};
constexpr const char* kForeign =
    "the process is in another pid namespace: only its diagnostic port can be reached; share the "
    "pid namespace (shareProcessNamespace in a pod)";
constexpr int kPauseShare = 100;  // a look may cost the process at most one part in so many

// What the findings asked for need together.
struct Sources {
  bool looks = false;
  bool recording = false;
};

Sources sources_for(const std::vector<doctor::Selected>& selected, nanoseconds duration) {
  Sources sources;
  for (const auto& one : selected) {
    const auto& needs = one.finding->needs;
    sources.looks = sources.looks || needs.looks || needs.events_or_looks;
    sources.recording = sources.recording || needs.events || needs.cpu || needs.events_or_looks;
  }
  sources.recording = sources.recording && duration >= std::chrono::seconds{1};
  return sources;
}

// What is asked for decides how long to watch: a deadlock is told by one look.
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
  TargetWish target{};
  bool foreign = false;  // known by its port only: its pid is of another namespace
};

// By the port that it listens to, or that it connected to.
Result<Patient> known_by_port(const TargetWish& target, FactSource source) {
  if (target.diagnostic_port && TRY(parse_port(*target.diagnostic_port)).listens)
    return fail(Errc::kUsage, "doctor examines a process that runs already")
        .hint("clrscope serve --diagnostic-port PATH,listen lets processes connect");
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
Result<Patient> find_patient(const TargetWish& target, FactSource source) {
  if (target.uid || target.diagnostic_port) return known_by_port(target, source);
  if (!target.pid && !target.name)
    return fail(Errc::kUsage, "which process?")
        .hint("-p PID, -n NAME or the path of a core; clrscope ps lists processes");
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

bool has_ended(pid_t pid) {
  const auto status = proc_status(pid);
  return !status || status->state == 'Z' || status->state == 'X';
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
  evidence.no_looks = evidence.no_proc = kForeign;
  evidence.notes.emplace_back("its memory and CPU limits are unknown: only its port can be seen");
}

class Visit {
 public:
  Visit(const ExamineWish& wish, const Patient& patient, const ExamineWatcher& watcher,
        nanoseconds duration)
      : wish_(wish), patient_(patient), watcher_(watcher), duration_(duration) {}

  // Watches for the time given, or until the process ends or the user has seen enough.
  void watch(Evidence& evidence, const Sources& sources) {
    start_ = TraceClock::now();
    const auto still = patient_.foreign ? std::nullopt : standstill_of(evidence.process.pid);
    if (sources.recording) recording_.emplace(patient_.target, duration_);
    if (patient_.foreign)
      add_foreign(evidence);
    else if (sources.looks)
      open_looker(evidence);
    auto next_look = start_;
    for (;;) {
      if (looker_ && duration_.count() > 0 && TraceClock::now() >= next_look)
        next_look = look_now(evidence);
      const auto elapsed = TraceClock::now() - start_;
      tell(evidence, elapsed, false);
      if (stopped_ || elapsed >= duration_) break;
      if (is_over(evidence)) {
        evidence.notes.push_back(fmt::format("it ended after {}", format_duration(elapsed)));
        looker_.reset();
        break;
      }
      const auto left = duration_ - elapsed;
      const auto until_look = looker_ ? next_look - TraceClock::now() : left;
      stopped_ = wait_or_stop(wish_.stop_fds, std::min<nanoseconds>({kStep, left, until_look}));
    }
    if (still) evidence.standstill = standstill_of(evidence.process.pid);
    // The last one is what people are shown.
    if (looker_) take_look(evidence, Looker::Detail::kLines);
    evidence.watched = TraceClock::now() - start_;
    tell(evidence, evidence.watched, true);
    finish_recording(evidence);
  }

 private:
  // Of one in another pid namespace only its events tell.
  bool is_over(const Evidence& evidence) const {
    return patient_.foreign ? recording_ && recording_->done() : has_ended(evidence.process.pid);
  }

  void open_looker(Evidence& evidence) {
    auto looker = Looker::at_process(evidence.process.pid);
    if (!looker) {
      evidence.no_looks = reason_of(looker.error());
      return;
    }
    looker_.emplace(std::move(*looker));
    if (const auto process = inspect::open_process(evidence.process.pid))
      if (const auto musl = inspect::unreadable_on_musl(**process))
        evidence.notes.push_back("threads and locks without methods: " + musl->what);
  }

  // When the next one is due: the dearer this one was for the process, the later.
  TraceTime look_now(Evidence& evidence) {
    if (!take_look(evidence, Looker::Detail::kThreads)) return TraceTime::max();
    const auto pause = evidence.looks.back().pause;
    const auto rest = std::max<nanoseconds>(kBetweenLooks, pause * kPauseShare);
    return TraceClock::now() + rest;
  }

  bool take_look(Evidence& evidence, Looker::Detail detail) {
    const auto at = TraceClock::now() - start_;
    auto look = looker_->look(detail);
    if (!look) {
      if (evidence.looks.empty()) evidence.no_looks = reason_of(look.error());
      looker_.reset();
      return false;
    }
    evidence.looks.push_back(std::move(*look));
    evidence.look_times.push_back(at);
    return true;
  }

  void finish_recording(Evidence& evidence) {
    if (!recording_) return;
    if (stopped_) recording_->stop();
    auto recorded = recording_->take();
    evidence.events = std::move(recorded.events);
    evidence.cpu = std::move(recorded.cpu);
    evidence.no_events = std::move(recorded.no_events);
    evidence.no_cpu = std::move(recorded.no_cpu);
    evidence.silent = recorded.silent;
    evidence.cost = recorded.cost;
    std::ranges::move(recorded.notes, std::back_inserter(evidence.notes));
    if (evidence.events && !wish_.messages)
      for (auto& type : evidence.events->thrown) type.message.clear();
  }

  void tell(const Evidence& evidence, nanoseconds elapsed, bool concluding) const {
    if (watcher_.on_status)
      watcher_.on_status({.elapsed = elapsed,
                          .whole = duration_,
                          .looks = evidence.looks.size(),
                          .events = recording_ ? recording_->events() : 0,
                          .concluding = concluding});
  }

  const ExamineWish& wish_;
  const Patient& patient_;
  const ExamineWatcher& watcher_;
  nanoseconds duration_;
  TraceTime start_{};
  bool stopped_ = false;
  std::optional<Looker> looker_;
  std::optional<RecordedEvidence> recording_;
};

Result<Evidence> look_at_core(const std::string& path) {
  Evidence evidence{.live = false};
  auto looker = TRY(Looker::at_core(path));
  evidence.looks.push_back(TRY(looker.look(Looker::Detail::kLines)));
  evidence.look_times.emplace_back();
  const auto& look = evidence.looks.back();
  evidence.process = {.pid = look.pid, .name = look.name, .runtime = look.runtime};
  return evidence;
}

// What the last look could not see, and the price of all of them.
void sum_up(const Evidence& evidence, doctor::Examination& examination) {
  examination.looks = evidence.looks.size();
  for (const auto& look : evidence.looks) examination.paused += look.pause;
  if (evidence.events) examination.lost = evidence.events->lost;
  examination.cost = evidence.cost;
  const auto* last = evidence.last_look();
  if (!last) return;
  examination.source = last->source;
  if (examination.process.runtime.empty()) examination.process.runtime = last->runtime;
  if (doctor::start_held_by(evidence).empty())  // else there was nothing to see yet
    std::ranges::copy(last->notes, std::back_inserter(examination.notes));
}

}  // namespace

Result<doctor::Examination> examine(const ExamineWish& wish, const ExamineWatcher& watcher) {
  const auto start = TraceClock::now();
  const auto selected = TRY(doctor::select(wish.only, wish.settings));
  Evidence evidence;
  if (!wish.core.empty()) {
    evidence = TRY(look_at_core(wish.core));
  } else {
    const auto duration = wish.duration.value_or(usual_duration(selected));
    const bool files =
        std::ranges::any_of(selected, [](const auto& one) { return one.finding->needs.files; });
    const auto patient =
        TRY(find_patient(wish.target, files ? FactSource::kProcAndFiles : FactSource::kProc));
    const auto sources = sources_for(selected, duration);
    evidence.process = patient.facts;
    if (patient.foreign && !sources.recording)
      return fail(Errc::kUnsupported, "{} ({}) is known by its port only: only events tell of it",
                  patient.facts.name, patient.facts.pid)
          .hint("watch it for a second or longer, or share the pid namespace");
    Visit{wish, patient, watcher, duration}.watch(evidence, sources);
    // Blind on every side is no "nothing found".
    const bool saw = !evidence.looks.empty() || evidence.events || evidence.cpu;
    if (!saw && !evidence.no_looks.empty() && !evidence.no_events.empty())
      return fail(Errc::kDenied, "cannot examine process {} ({}): {}", evidence.process.pid,
                  evidence.process.name, evidence.no_looks)
          .hint("its events cannot be had either: {}", evidence.no_events);
  }
  doctor::Examination examination{.process = evidence.process,
                                  .core = wish.core,
                                  .taken = std::chrono::system_clock::now(),
                                  .watched = evidence.watched,
                                  .notes = evidence.notes};
  sum_up(evidence, examination);
  examination.diagnosis = doctor::diagnose(evidence, selected);
  examination.took = TraceClock::now() - start;
  return examination;
}

}  // namespace clrscope::ops
