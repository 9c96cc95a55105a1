#include "collect/machine/machine_recorder.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/machine/budget.h"
#include "collect/machine/guardian.h"
#include "collect/machine/kernel_events.h"
#include "collect/machine/runtime_finder.h"
#include "collect/machine/runtime_source.h"
#include "collect/machine/urgency.h"
#include "collect/perf/event_set.h"

namespace clrscope::collect {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr milliseconds kAgentLook{20};  // its rings are small
constexpr milliseconds kFlush{1000};
constexpr milliseconds kLiveFlush{200};
constexpr std::chrono::seconds kFirstLook{10};
constexpr std::chrono::seconds kFirstNames{1};    // into the file, while it is recorded
constexpr std::chrono::seconds kFirstMoments{5};  // if killed then, the file has samples too
constexpr std::chrono::seconds kOftenNames{5};
constexpr std::chrono::seconds kSeldomNames{30};
constexpr double kSwitchesAtOnce = 5;  // seconds' worth of them
constexpr std::size_t kChunk = 256 << 10;
constexpr std::size_t kFewBytes = 32 << 10;  // a sixth of what a socket holds
constexpr milliseconds kSilence{1000};       // nobody waits longer for a runtime
constexpr milliseconds kFirstSilence{300};
constexpr milliseconds kInFlight{10};  // between a record's time and its place in the ring

nettrace::TraceInfo trace_info(const MachineRequest& request) {
  nettrace::TraceInfo info{.version = 6,
                           .start = wall_now(),
                           .sync_ticks = TraceClock::now().time_since_epoch().count(),
                           .ticks_per_second = 1'000'000'000};
  info.processors = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  info.sampling_ns = 1'000'000'000 / std::max(1U, request.rate);
  return info;
}

// What the kernel is asked for, and what its answers mean.
struct KernelSession {
  perf::SessionRequest request;
  std::vector<KernelEvents::Role> roles;
  std::size_t switches_at = 0;  // in request.events, where there are waits
};

KernelSession kernel_session(const MachineRequest& request) {
  KernelSession session;
  session.request.scope = request.processes.empty() ? perf::Scope::kMachine : perf::Scope::kBestFor;
  session.request.processes = request.processes;
  session.request.ring_bytes = request.ring_bytes;
  if (request.samples) {
    const bool machine = request.processes.empty();
    session.request.events.push_back(perf::cpu_samples(
        request.rate, machine ? perf::kMachineStackBytes : perf::kOnCpuStackBytes));
    session.roles.push_back(KernelEvents::Role::kCpu);
  }
  if (request.waits != WaitDetail::kNone) {
    session.switches_at = session.request.events.size();
    session.request.events.push_back(request.waits == WaitDetail::kStacks
                                         ? perf::context_switch_samples()
                                         : perf::switch_records());
    session.request.events.back().user_callchain = false;
    session.roles.push_back(KernelEvents::Role::kSwitchOut);
  }
  for (const auto& event : request.perf_events) {
    session.request.events.push_back(event);
    session.roles.push_back(KernelEvents::Role::kAsked);
    // Machine-wide our own work would make events, and those more work.
    if (!request.processes.empty() || event.tracepoint.empty()) continue;
    auto& filter = session.request.events.back().filter;
    const auto others = fmt::format("common_pid != {}", ::gettid());
    filter = filter.empty() ? others : fmt::format("({}) && {}", filter, others);
  }
  // What happens at every event costs those who cause it: here the target alone.
  if (!request.processes.empty() && !request.perf_events.empty() && !request.samples)
    session.request.scope = perf::Scope::kThreads;
  return session;
}

// Of all threads since the machine started; 0 where it is not told.
std::uint64_t machine_switches() {
  const auto text = read_file("/proc/stat");
  if (!text) return 0;
  for (const auto line : split(*text, '\n'))
    if (line.starts_with("ctxt ")) return parse_number(line.substr(5)).value_or(0);
  return 0;
}

class MachineRecorder {
 public:
  // Without events it is the runtimes alone.
  MachineRecorder(const MachineRequest& request, const nettrace::WriteBytes& write,
                  KernelSession session, std::optional<perf::EventSet> events)
      : request_(request),
        write_(write),
        writer_(trace_info(request), [this](Bytes bytes) { return write_out(bytes); }),
        events_(std::move(events)),
        kernel_(writer_, {.symbol_folder = request.symbol_folder,
                          .kernel_names = request.kernel_names,
                          .roles = std::move(session.roles),
                          .waits = request.waits,
                          .image_lines = request.image_lines,
                          .on_runtime =
                              [this](ProcessId process) {
                                if (finder_) finder_->expect(static_cast<pid_t>(process));
                              },
                          .find_method = request.find_method,
                          .find_lambda = request.find_lambda,
                          .find_helper = request.find_helper}),
        switches_at_(session.switches_at) {}

  Result<MachineOutcome> run() {
    auto done = record();
    if (!done && !outcome_.write_failed) return fail(std::move(done).error());
    outcome_.written = writer_.summary();
    return std::move(outcome_);
  }

 private:
  Result<> record() {
    epoll_ = UniqueFd{::epoll_create1(EPOLL_CLOEXEC)};
    stops_ = UniqueFd{::epoll_create1(EPOLL_CLOEXEC)};
    for (const int fd : request_.stop_fds) watch(fd, stops_);
    watch(stops_.get(), epoll_);
    TRY(begin());
    if (request_.on_started) request_.on_started();
    while (!outcome_.stopped_by) {
      TRY(turn());
      look_for_end();
    }
    outcome_.recorded = TraceClock::now() - started_;
    return end();
  }

  Result<> begin() {
    started_ = TraceClock::now();
    const SwitchesSoFar looked{started_, machine_switches()};
    kernel_.start(started_);
    if (request_.stopping_event) kernel_.stop_at(*request_.stopping_event);
    if (events_) kernel_.describe(events_->events());
    // On a busy machine a look at all processes takes longer than rings hold samples.
    if (events_) TRY(events_->enable_bookkeeping());
    const auto totals = TRY(take_snapshot(request_.processes, started_));
    if (totals.denied > 0)
      outcome_.notes.push_back(
          fmt::format("no permission to read the mappings of {} process{}: native symbols are "
                      "unavailable there",
                      totals.denied, totals.denied == 1 ? "" : "es"));
    // Of a whole machine some process ends at once, and is named then.
    if (events_ && request_.processes.empty()) kernel_.read_kernel_names();
    drain();
    if (events_) TRY(events_->enable());
    TRY(start_agents());
    started_ = TraceClock::now();
    if (events_ && request_.waits != WaitDetail::kNone && request_.most_switches > 0)
      begin_switch_budget(looked);
    RuntimeFinder::Options runtimes{.processes = request_.processes,
                                    .all = request_.later_runtimes,
                                    .sessions = request_.runtime};
    if (!request_.suspended)
      runtimes.early_names = request_.image_lines ? Rundown::kLines : Rundown::kNames;
    finder_.emplace(std::move(runtimes));
    if (!request_.later_runtimes) TRY(await_runtimes());  // who is named may wait for us, suspended
    return checked();
  }

  Result<perf::SnapshotTotals> take_snapshot(const std::vector<pid_t>& processes, TraceTime as_of) {
    return perf::take_snapshot(
        processes, as_of,
        {.on_process = [&](const perf::ProcessFacts& facts) { kernel_.process_exists(facts); },
         .on_record = [&](const perf::Record& record) { kernel_.take(record); }});
  }

  // Without the right to record CPUs, a .NET process that has started since is recorded when its
  // runtime is found. Children of those that are have inherited it.
  void record_later(ProcessId process) {
    if (!events_ || events_->scope() != perf::Scope::kThreads || !request_.later_runtimes ||
        kernel_.knows(process))
      return;
    const auto pid = static_cast<pid_t>(process);
    const auto now = TraceClock::now();
    auto added = events_->add_process(pid);
    if (added)
      if (const auto taken = take_snapshot({pid}, now); !taken) added = fail(taken.error());
    if (!added && process_exists(pid))
      outcome_.notes.push_back(fmt::format("no CPU samples of process {}, which started later: {}",
                                           pid, added.error().what));
  }

  // Until all that were there at the start have been asked, or do not answer.
  Result<> await_runtimes() {
    const auto limit = TraceClock::now() + kFirstLook;
    while (!finder_->looked_once() && TraceClock::now() < limit) TRY(turn());
    adopt_runtimes();
    // Of one process alone, samples without names are not what was asked for.
    if (full_ && request_.processes.size() == 1) return fail(*full_);
    return {};
  }

  // Waits a moment and takes what there is.
  Result<> turn() {
    TRY(wait());
    drain();
    if (events_) TRY(events_->vary_period());
    end_costly_waits();
    check(kernel_.catch_up(kLook / 4));
    adopt_runtimes();
    read_runtimes();
    end_dear_events();
    write_growth();
    write_names_so_far();
    const auto now = TraceClock::now();
    const bool often = request_.live || now - started_ < kFirstMoments;
    if (now - last_flush_ >= (often ? kLiveFlush : kFlush)) {
      last_flush_ = now;
      if (request_.live && finder_->looked_once())
        check(kernel_.write_new_names(now, silent_processes([](const auto&) { return true; })));
      check(write_what_is_whole(now));
    }
    report(Phase::kRecording);
    return checked();
  }

  // In case we are killed: names of what samples have hit by now, piece by piece, since the rings
  // fill. Of the last seconds only, names would go with the first of them.
  void write_names_so_far() {
    if (request_.live || request_.cut_every || (!events_ && request_.agents.empty())) return;
    const auto now = TraceClock::now();
    const auto late = writer_.summary().late;
    if (now >= started_ + kFirstNames && now >= next_names_) {
      const auto all = kernel_.write_some_names(drained_ - kInFlight, kLook / 4);
      if (!all) return check(fail(all.error()));
      if (*all) {
        next_names_ = now + std::clamp<std::chrono::nanoseconds>((now - started_) / 2, kOftenNames,
                                                                 kSeldomNames);
        const auto unnamed = kernel_.take_unnamed();
        for (auto& runtime : runtimes_)
          if (const auto of = unnamed.find(runtime->process()); of != unnamed.end())
            runtime->want_names(of->second);
      }
    }
    const auto until = TraceClock::now() + kLook / 4;
    for (auto& runtime : runtimes_) check(runtime->write_wanted_names(until));
    late_names_ += writer_.summary().late - late;  // they may be as old as they are
  }

  // The rings have just been read; a runtime may be behind, or silent. Who looks on wants to see
  // what is, and finds names whenever they come.
  Result<> write_what_is_whole(TraceTime now) {
    auto whole = drained_ - kInFlight;
    const auto patience = now - started_ < kFirstMoments ? kFirstSilence : kSilence;
    for (const auto& runtime : runtimes_) {
      const auto mark = request_.live ? std::nullopt : runtime->watermark(now, patience);
      if (mark) whole = std::min(whole, *mark);
    }
    add_kernel_losses();
    TRY(writer_.advance(whole.time_since_epoch().count()));
    if (!request_.cut_every || now - last_cut_ < *request_.cut_every) return {};
    last_cut_ = now;
    return writer_.sequence_point(whole.time_since_epoch().count());
  }

  void look_for_end() {
    for (const int fd : request_.stop_fds)
      if (stopped_by(fd)) outcome_.stopped_by = StopReason::kSignal;
    if (request_.limits.duration && TraceClock::now() - started_ >= *request_.limits.duration)
      outcome_.stopped_by = StopReason::kDuration;
    const auto bytes = request_.file_bytes ? request_.file_bytes() : writer_.summary().bytes;
    if (request_.limits.max_size && bytes >= *request_.limits.max_size)
      outcome_.stopped_by = StopReason::kSize;
    if (kernel_.stop_found() ||
        std::ranges::any_of(runtimes_, [](const auto& one) { return one->stop_found(); }))
      outcome_.stopped_by = StopReason::kEvent;
    if (request_.target_ended && request_.target_ended())
      outcome_.stopped_by = StopReason::kTargetEnded;
  }

  static bool stopped_by(int fd) {
    pollfd ready{fd, POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }

  Result<> wait() {
    if (events_)
      (void)TRY(events_->wait(kLook, few_events_ ? stops_.get() : epoll_.get()));
    else
      wait_for_runtimes();
    return {};
  }
  void wait_for_runtimes() {
    epoll_event ready;
    const auto look = request_.agents.empty() ? kLook : kAgentLook;
    (void)::epoll_wait(epoll_.get(), &ready, 1, static_cast<int>(look.count()));
  }

  void drain() {
    drained_ = TraceClock::now();
    const auto take = [&](const perf::Record& record) { kernel_.take(record); };
    if (events_) events_->drain(take);
    for (auto* agent : request_.agents) agent->drain(take);
  }

  // One of many that has ended meanwhile, or does not answer, does not end the recording.
  Result<> start_agents() {
    for (auto* agent : request_.agents) {
      if (auto started = agent->start(); !started) {
        if (request_.agents.size() == 1) return started;
        outcome_.notes.push_back(fmt::format("no CPU samples of process {}: {}", agent->process(),
                                             started.error().what));
        continue;
      }
      kernel_.tell(kSampledByAgent, TraceClock::now(), ProcessId{agent->process()}, request_.rate);
    }
    return {};
  }
  Result<> stop_agents() {
    for (auto* agent : request_.agents)
      if (auto stopped = agent->stop(); !stopped && request_.agents.size() == 1) return stopped;
    return {};
  }

  // Each switch costs those who make it, and us.
  struct SwitchesSoFar {
    TraceTime time;
    std::uint64_t count;
    std::uint64_t per_second(TraceTime now, std::uint64_t more) const {
      const auto seconds = std::chrono::duration<double>{now - time}.count();
      return static_cast<std::uint64_t>(static_cast<double>(more - count) / seconds);
    }
  };

  // Where there are far too many we had better not look at the first.
  void begin_switch_budget(const SwitchesSoFar& before) {
    const auto rate = before.per_second(started_, machine_switches());
    if (request_.processes.empty() && rate > 2 * request_.most_switches) return end_waits(rate);
    switch_budget_.emplace(request_.most_switches, kSwitchesAtOnce, started_);
  }

  void end_costly_waits() {
    const auto now = TraceClock::now();
    if (!switch_budget_ || !switch_budget_->exceeded(kernel_.switches(), now)) return;
    end_waits(switch_budget_->per_second());
    switch_budget_.reset();
  }

  void end_waits(std::uint64_t per_second) {
    events_->disable_event(switches_at_);
    const auto now = TraceClock::now();
    kernel_.end_waits(now, per_second);
    outcome_.notes.push_back(
        fmt::format("waits recorded only for the first {}: {} context switches a second would cost "
                    "too much; use --profile thread-time to record all of them",
                    format_duration(now - started_), format_count(per_second)));
  }

  // What nobody asked for by name ends where it costs the program much; counters go on.
  void end_dear_events() {
    const auto now = TraceClock::now();
    for (auto& runtime : runtimes_) {
      if (!runtime->too_dear(now)) continue;
      const auto pid = static_cast<pid_t>(runtime->process());
      const auto* counted = counted_on(runtime->what());
      const bool goes_on = counted && !counted->counter.empty();
      runtime->stop();
      if (goes_on) {
        auto& counts = counts_[runtime->process()];
        if (counts.empty()) finder_->count(pid);
        counts.push_back({counted});
      }
      outcome_.notes.push_back(
          fmt::format("{} of process {} were recorded only for the first {}: {} a second would "
                      "slow the process down too much; {}",
                      runtime->what(), pid, format_duration(now - started_),
                      format_count(runtime->per_second()),
                      goes_on ? "they are only counted from then on"
                              : "request them by name to record all of them"));
    }
  }

  static const CountedOn* counted_on(std::string_view what) {
    const auto found = std::ranges::find(kCountedOn, what, &CountedOn::what);
    return found == std::end(kCountedOn) ? nullptr : found;
  }

  // From now on its counters stand for what is not recorded any more.
  void begin_counting(ProcessId process, TraceTime now) {
    for (auto& one : counts_[process]) {
      if (!one.begun) kernel_.tell(one.what->counting, now, process, 0);
      one.begun = true;
    }
  }

  void write_growth() {
    for (auto& runtime : runtimes_)
      for (const auto& growth : runtime->take_growth()) {
        for (const auto& one : counts_[runtime->process()])
          if (one.begun && one.what->counter == growth.counter)
            kernel_.tell(one.what->counted, growth.time, runtime->process(), growth.by);
        begin_counting(runtime->process(), growth.time);
      }
  }

  Result<> end() {
    if (events_) events_->disable();
    TRY(stop_agents());
    const auto ended = TraceClock::now();
    drain();
    kernel_.write_open_waits(ended, waits_asked());
    if (request_.on_stop) request_.on_stop();
    TRY(await_runtimes());
    finder_->stop();
    adopt_runtimes();
    for (auto& runtime : runtimes_) runtime->stop();
    while (std::ranges::any_of(runtimes_, [](const auto& runtime) { return !runtime->ended(); })) {
      wait_for_runtimes();
      read_runtimes();
      check(writer_.flush());  // what comes now are names, in no order
      report(Phase::kStopping);
    }
    outcome_.late = writer_.summary().late - late_names_;  // names may be as old as they are
    add_early_names();
    TRY(kernel_.write_names(TraceClock::now(), silent_processes([](const RuntimeSource& runtime) {
                              return runtime.whole();
                            })));
    add_losses();
    TRY(checked());
    return writer_.finish();
  }

  // Whose threads matter also when they wait all the time: of a whole machine the .NET processes.
  std::set<ProcessId> waits_asked() const {
    std::set<ProcessId> all;
    for (const auto pid : request_.processes) all.insert(ProcessId{pid});
    for (const auto& runtime : runtimes_) all.insert(runtime->process());
    return all;
  }

  // --- runtimes ---

  void adopt_runtimes() {
    auto found = finder_->take();
    for (auto& note : found.notes) outcome_.notes.push_back(std::move(note));
    if (found.full) full_ = std::move(found.full);
    for (auto& opened : found.opened) {
      const auto asked = opened.asked;
      runtimes_.push_back(std::make_unique<RuntimeSource>(std::move(opened), writer_));
      if (request_.stopping_event) runtimes_.back()->stop_at(*request_.stopping_event);
      watch(runtimes_.back()->fd(), epoll_);
      guardian_.watch(runtimes_.back()->guarded());
      if (runtimes_.back()->has_names()) ++outcome_.runtimes;
      record_later(runtimes_.back()->process());
      if (runtimes_.back()->has_counts()) begin_counting(runtimes_.back()->process(), asked);
    }
  }

  // Those whose methods nobody told, or not to the end.
  std::set<ProcessId> silent_processes(auto&& tells) const {
    std::set<ProcessId> silent;
    for (const auto pid : request_.processes) silent.insert(ProcessId{pid});
    for (const auto& runtime : runtimes_) silent.erase(runtime->process());
    for (const auto& runtime : runtimes_)
      if (runtime->has_names() && !tells(*runtime)) silent.insert(runtime->process());
    return silent;
  }

  void read_runtimes() {
    std::size_t most = 0;
    for (auto& runtime : runtimes_) {
      if (runtime->ended()) continue;
      const auto got = runtime->read(chunk_);
      if (got)
        most = std::max(most, *got);
      else
        check(fail(got.error()));
      if (!runtime->ended()) continue;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, runtime->fd(), nullptr);
      guardian_.forget(runtime->guarded());
      runtime->release();
      if (!runtime->was_too_dear()) continue;
      finder_->settle(static_cast<pid_t>(runtime->process()));
      if (const auto* counted = counted_on(runtime->what()))
        kernel_.tell(counted->ended, TraceClock::now(), runtime->process(), runtime->per_second());
    }
    few_events_ = most < kFewBytes && std::ranges::none_of(runtimes_, [](const auto& one) {
                    return one->sends_names();
                  });
  }

  static void watch(int fd, const UniqueFd& epoll) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event);
  }

  // --- the end ---

  // Names come at the end of a session; of processes that did not live to see it there are those
  // taken at the start, and those of methods compiled since.
  void add_early_names() {
    std::vector<int> partly;
    std::vector<int> unnamed;
    for (auto& runtime : runtimes_) {
      if (!runtime->has_names() || runtime->whole()) continue;
      const auto named = runtime->add_early_names();
      if (!named) check(fail(named.error()));
      (named && *named ? partly : unnamed).push_back(static_cast<int>(runtime->process()));
    }
    const auto tell = [&](const std::vector<int>& processes, std::string_view what) {
      constexpr std::size_t kShown = 5;
      if (processes.empty()) return;
      const std::span shown{processes.data(), std::min(processes.size(), kShown)};
      outcome_.notes.push_back(
          fmt::format("{} .NET process{} ended or stopped responding before sending method names: "
                      "{} (pid {}{})",
                      processes.size(), processes.size() == 1 ? "" : "es", what,
                      fmt::join(shown, ", "), processes.size() > kShown ? ", …" : ""));
    };
    tell(partly, "only names known at the start or compiled since are available");
    tell(unnamed, "only names compiled during the recording are available");
  }

  // During the recording too: if we are killed, they are in the file.
  void add_kernel_losses() {
    std::uint64_t lost = 0;
    for (const auto* agent : request_.agents) lost += agent->lost();
    if (events_) lost += events_->stats().lost + events_->stats().hardware_lost;
    if (lost > kernel_lost_) kernel_.add_lost(lost - kernel_lost_);
    kernel_lost_ = std::max(kernel_lost_, lost);
  }

  void add_losses() {
    add_kernel_losses();
    outcome_.lost = kernel_lost_;
    for (const auto* agent : request_.agents)
      for (auto& note : agent->notes())
        outcome_.notes.push_back(request_.agents.size() == 1
                                     ? std::move(note)
                                     : fmt::format("process {}: {}", agent->process(), note));
    if (kernel_lost_ > 0 && !request_.agents.empty())
      outcome_.notes.push_back(fmt::format(
          "{} samples lost because the rings of the agent were full: use a lower --rate",
          kernel_lost_));
    else if (kernel_lost_ > 0)
      outcome_.notes.push_back(fmt::format(
          "{} records lost because the kernel's ring buffers were full: {}", kernel_lost_,
          request_.live ? "use a lower --rate" : "use a larger --ring-size or a lower --rate"));
    if (const auto paused = events_ ? events_->stats().throttled : 0; paused > 0)
      outcome_.notes.push_back(fmt::format(
          "the kernel paused sampling {} time{} until its next tick "
          "(kernel.perf_event_max_sample_rate): those samples are missing; use a lower --rate",
          format_count(paused), paused == 1 ? "" : "s"));
    for (const auto& runtime : runtimes_) {
      outcome_.lost += runtime->lost();
      outcome_.samples += runtime->samples();
      if (runtime->has_names() && !runtime->whole())
        outcome_.unfinished.push_back(static_cast<pid_t>(runtime->process()));
    }
    tell_damage();
    outcome_.samples += kernel_.samples();
    outcome_.switches = kernel_.switches();
    outcome_.perf_events = kernel_.asked();
    outcome_.broken_by_reason = kernel_.broken_stacks();
    for (const auto& [reason, count] : outcome_.broken_by_reason) outcome_.broken_stacks += count;
    outcome_.notes.insert(outcome_.notes.end(), kernel_.notes().begin(), kernel_.notes().end());
  }

  // A runtime's stream that could not be read everywhere: the file says so too.
  void tell_damage() {
    nettrace::Summary all;
    std::vector<nettrace::Damage> first;
    for (const auto& runtime : runtimes_) {
      const auto& read = runtime->summary();
      if (read.damaged + read.undefined == 0) continue;
      all.damaged += read.damaged;
      all.undefined += read.undefined;
      all.skipped_bytes += read.skipped_bytes;
      const auto pid = static_cast<int>(runtime->process());
      for (const auto& one : runtime->damage())
        first.push_back({one.offset, fmt::format("process {}: {}", pid, one.what)});
      outcome_.notes.push_back(
          fmt::format("the event stream of process {} is damaged: {} piece{} could not be read, {} "
                      "event{} had no known type",
                      pid, format_count(read.damaged), read.damaged == 1 ? "" : "s",
                      format_count(read.undefined), read.undefined == 1 ? "" : "s"));
    }
    if (all.damaged + all.undefined > 0) writer_.tell_damage(all, first);
  }

  void report(Phase phase) {
    const auto now = TraceClock::now();
    if (!request_.on_status || now - last_status_ < 2 * kLook) return;
    last_status_ = now;
    const auto& written = writer_.summary();
    request_.on_status(
        {phase, now - started_, written.bytes, written.events, kernel_lost_, kernel_.samples()});
  }

  Result<> write_out(Bytes bytes) {
    auto done = write_(bytes);
    if (!done && !outcome_.write_failed) outcome_.write_failed = done.error();
    return done;
  }

  void check(Result<> done) {
    if (!done && !error_) error_ = std::move(done).error();
  }
  Result<> checked() {
    if (error_) return fail(*error_);
    if (kernel_.error()) return fail(*kernel_.error());
    return {};
  }

  const MachineRequest& request_;
  const nettrace::WriteBytes& write_;
  Guardian guardian_;  // before anything has threads
  MachineOutcome outcome_;
  nettrace::Writer writer_;
  std::optional<perf::EventSet> events_;
  KernelEvents kernel_;
  std::size_t switches_at_;  // in the events
  std::optional<Budget> switch_budget_;
  struct Counting {
    const CountedOn* what = nullptr;
    bool begun = false;
  };
  std::map<ProcessId, std::vector<Counting>> counts_;  // what cost a process too much
  std::vector<std::unique_ptr<RuntimeSource>> runtimes_;
  std::vector<std::uint8_t> chunk_ = std::vector<std::uint8_t>(kChunk);  // to read them through
  std::optional<RuntimeFinder> finder_;
  std::optional<Error> full_;  // why a runtime had no session for us
  UniqueFd epoll_;             // runtimes, and stops_
  UniqueFd stops_;
  bool few_events_ = false;  // at the last look: they can wait until the next, and wake nobody
  TraceTime started_{};
  TraceTime last_status_{};
  TraceTime last_flush_{};
  TraceTime last_cut_{};
  TraceTime next_names_{};
  std::uint64_t late_names_ = 0;
  TraceTime drained_{};            // up to then the rings have been read
  std::uint64_t kernel_lost_ = 0;  // told so far
  std::optional<Error> error_;
};

}  // namespace

Result<MachineOutcome> record_machine(const MachineRequest& request,
                                      const nettrace::WriteBytes& write) {
  const Urgency urgency;
  (void)::mallopt(M_MMAP_THRESHOLD, kChunk);  // large pieces go back to the system when freed
  auto session = kernel_session(request);
  std::optional<perf::EventSet> events;
  if (request.kernel) events.emplace(TRY(perf::EventSet::open(session.request)));
  // On the heap: we are in the recording too, and our stacks should fit into a sample.
  return std::make_unique<MachineRecorder>(request, write, std::move(session), std::move(events))
      ->run();
}

}  // namespace clrscope::collect
