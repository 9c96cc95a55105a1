#include "ops/examine.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/proc.h"
#include "ipc/commands.h"
#include "ipc/discover.h"
#include "ops/process_facts.h"
#include "ops/recorded_evidence.h"

namespace clrscope::ops {
namespace {

using doctor::Evidence;
using std::chrono::nanoseconds;

constexpr std::chrono::seconds kUsualDuration{10};
constexpr std::chrono::milliseconds kStep{200};

// What the findings asked for need together.
struct Sources {
  bool looks = false;
  bool recording = false;
  bool time = false;  // something must be watched for a while
};

Sources sources_for(const std::vector<doctor::Selected>& selected) {
  Sources sources;
  for (const auto& one : selected) {
    const auto& needs = one.finding->needs;
    sources.looks = sources.looks || needs.looks || needs.events_or_looks;
    sources.recording = sources.recording || needs.events || needs.cpu || needs.events_or_looks;
    sources.time = sources.time || needs.least.count() > 0;
  }
  return sources;
}

// By its number also when its runtime cannot be talked to: its memory may be read all the same.
Result<doctor::ProcessFacts> facts_of(const TargetWish& target) {
  if (!target.pid && !target.name)
    return fail(Errc::kUsage, "which process?")
        .hint("-p PID, -n NAME or the path of a core; clrscope ps lists processes");
  const auto found =
      target.pid ? ipc::find_process(*target.pid) : ipc::find_process_named(*target.name);
  if (!found &&
      !(target.pid && process_exists(*target.pid) && found.error().code != Errc::kUnsupported))
    return fail(found.error());
  auto facts = process_facts(found ? found->pid : *target.pid);
  if (!found) return facts;
  facts.name = found->name;
  facts.runtime = found->runtime;
  if (facts.runtime.empty() && found->reachable()) {
    constexpr std::chrono::milliseconds kPatience{500};
    if (const auto info = ipc::process_info(*ipc::connect_endpoint(found->socket), kPatience))
      facts.runtime = info->runtime_version;
  }
  return facts;
}

// True when the user wants to stop.
bool wait_or_stop(std::span<const int> stop_fds, std::chrono::milliseconds time) {
  std::vector<pollfd> fds;
  for (const int fd : stop_fds) fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  return ::poll(fds.data(), fds.size(), static_cast<int>(time.count())) > 0;
}

class Visit {
 public:
  Visit(const ExamineWish& wish, const ExamineWatcher& watcher, nanoseconds duration)
      : wish_(wish), watcher_(watcher), duration_(duration) {}

  // Watches for the time given, or until the process ends or the user has seen enough.
  void watch(Evidence& evidence, const Sources& sources) {
    const auto start = TraceClock::now();
    std::optional<RecordedEvidence> recording;
    if (sources.recording) recording.emplace(evidence.process.pid, duration_);
    bool stopped = false;
    for (;;) {
      const auto elapsed = TraceClock::now() - start;
      tell(elapsed, recording ? recording->events() : 0, false);
      if (stopped || elapsed >= duration_) break;
      if (!process_exists(evidence.process.pid)) {
        evidence.notes.push_back(fmt::format("it ended after {}", doctor_seconds(elapsed)));
        break;
      }
      stopped = wait_or_stop(
          wish_.stop_fds,
          std::min(kStep, std::chrono::ceil<std::chrono::milliseconds>(duration_ - elapsed)));
    }
    evidence.watched = TraceClock::now() - start;
    tell(evidence.watched, recording ? recording->events() : 0, true);
    if (!recording) return;
    if (stopped) recording->stop();
    auto recorded = recording->take();
    evidence.events = std::move(recorded.events);
    evidence.cpu = std::move(recorded.cpu);
    evidence.no_events = std::move(recorded.no_events);
    evidence.no_cpu = std::move(recorded.no_cpu);
    for (auto& note : recorded.notes) evidence.notes.push_back(std::move(note));
  }

 private:
  static std::string doctor_seconds(nanoseconds time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
  }
  void tell(nanoseconds elapsed, std::uint64_t events, bool concluding) const {
    if (watcher_.on_status)
      watcher_.on_status({.elapsed = elapsed,
                          .whole = duration_,
                          .looks = 0,
                          .events = events,
                          .concluding = concluding});
  }

  const ExamineWish& wish_;
  const ExamineWatcher& watcher_;
  nanoseconds duration_;
};

}  // namespace

Result<doctor::Examination> examine(const ExamineWish& wish, const ExamineWatcher& watcher) {
  const auto start = TraceClock::now();
  const auto selected = TRY(doctor::select(wish.only, wish.settings));
  const auto sources = sources_for(selected);
  const auto duration =
      wish.duration.value_or(sources.time ? nanoseconds{kUsualDuration} : nanoseconds{0});
  Evidence evidence{.process = TRY(facts_of(wish.target))};
  if (sources.looks || sources.recording || wish.duration)
    Visit{wish, watcher, duration}.watch(evidence, sources);
  doctor::Examination examination{.process = evidence.process,
                                  .taken = std::chrono::system_clock::now(),
                                  .watched = evidence.watched,
                                  .notes = evidence.notes};
  if (evidence.events) examination.lost = evidence.events->lost;
  examination.diagnosis = doctor::diagnose(evidence, selected);
  examination.took = TraceClock::now() - start;
  return examination;
}

}  // namespace clrscope::ops
