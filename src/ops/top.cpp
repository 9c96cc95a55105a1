#include "ops/top.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "base/proc_identity.h"
#include "base/text.h"
#include "collect/machine/machine_recorder.h"
#include "ipc/discover.h"
#include "model/provider_names.h"
#include "ops/live_names.h"
#include "ops/memory_names.h"
#include "ops/portless.h"
#include "ops/process_from.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kWaitForRuntime{60};
constexpr seconds kSilence{3};     // a runtime that samples itself may be behind
constexpr seconds kFirstNames{3};  // the first view waits so long for them
constexpr seconds kFirstPause{5};  // before a process is asked for its names again
constexpr seconds kLongestPause{300};
constexpr std::uint64_t kWorthAsking = 50;  // one in so many lacks a name
constexpr std::chrono::milliseconds kSamplerPeriod{10};

// What is loaded from now on; the sampler where the plan has it.
ipc::SessionConfig live_config(const Plan& plan) {
  ipc::SessionConfig config{.buffer_mb = 32, .rundown_keyword = 0, .providers = {}};
  for (const auto& one : plan.selection.providers)
    if (!equal_ignoring_case(one.provider.name, kRuntimeProvider))
      config.providers.push_back(one.provider);
  config.providers.push_back({.name = std::string{kRuntimeProvider},
                              .keywords = kNameKeywords,
                              .level = ipc::Level::kVerbose});
  return config;
}

class Top {
 public:
  Top(const TopRequest& request, const TopWatcher& watcher, const Plan& plan,
      const AgentSamplers& agents)
      : request_(request),
        watcher_(watcher),
        plan_(plan),
        agents_(agents),
        live_(request.keep_samples ? analyze::LiveTimes::Keep::kSamples
                                   : analyze::LiveTimes::Keep::kSums) {}

  Result<TopSummary> run(const Process& process) {
    collect::MachineRequest machine{
        .kernel = plan_.kernel,
        .agents = agents_.all(),
        .later_runtimes = request_.whole_machine,
        .rate = request_.rate,
        .symbol_folder = request_.symbol_folder,
        .runtime = {{.session = live_config(plan_)}},
        .find_method = [&](ProcessId of,
                           std::uint64_t address) { return memory_names_.find(of, address); },
        .live = true,
        .limits = {.duration = request_.duration},
        .stop_fds = request_.stop_fds,
        .on_started =
            [&] {
              if (process.pid != 0) ask(process.pid);
              if (watcher_.on_start) watcher_.on_start(process, plan_);
            },
        .on_status = [&](const collect::StreamStatus& status) { on_status(status); },
    };
    if (!request_.whole_machine) {
      // It has one listener.
      if (agents_.empty() && request_.may_load_agent) listen_to_agent(process.pid);
      machine.processes = {process.pid};
      machine.target_ended = [end = std::make_shared<ProcessEnd>(process.pid)] {
        return end->has_come();
      };
    } else if (plan_.agent) {
      for (const auto* agent : machine.agents) machine.processes.push_back(agent->process());
    } else if (plan_.rung.cpu != CpuRung::kMachine) {
      for (const auto& one : TRY(ipc::find_processes()))
        if (one.reachable() && one.status.state != 'T') machine.processes.push_back(one.pid);
      if (machine.processes.empty())
        return fail(Errc::kDenied, "no .NET processes of this user found, and {}", plan_.note)
            .hint("{}", plan_.hint);
    }
    last_shown_ = TraceClock::now();
    const auto outcome =
        TRY(collect::record_machine(machine, [&](Bytes bytes) { return on_bytes(bytes); }));
    if (request_.keep_samples) show(TraceClock::now());  // the rest
    summary_.stopped_by = outcome.stopped_by;
    summary_.lost = outcome.lost;
    summary_.notes = outcome.notes;
    return std::move(summary_);
  }

 private:
  // One that is loaded already, and that nobody else listens to.
  void listen_to_agent(pid_t pid) {
    auto opened = AgentListener::open(pid);
    if (!opened) return;
    if ((*opened)->switch_to(wire::kSourceExceptions | wire::kSourceContention |
                             wire::kSourceAllocations))
      agent_ = *std::move(opened);
  }

  Result<> on_bytes(Bytes bytes) {
    TRY(reader_.feed(bytes, [&](const nettrace::Batch& batch) { live_.on_batch(reader_, batch); }));
    const auto now = TraceClock::now();
    find_out_whom_to_ask(now);
    if (awaits_first_names(now)) return {};
    // A tenth less: flushes are not on the dot, and one that misses its turn would wait for the
    // next.
    if (now - last_shown_ >= request_.interval * 9 / 10) show(now);
    return {};
  }

  // Of a whole machine it is not known who runs: the first moments tell, and are not shown.
  void find_out_whom_to_ask(TraceTime now) {
    if (!request_.whole_machine || looked_ || now - last_shown_ < request_.interval / 3) return;
    looked_ = true;
    ask_for_names(analyze::LiveInterval{live_.cut(reader_, now)});
  }

  // A first view without names says nothing; but it is not waited for long.
  bool awaits_first_names(TraceTime now) const {
    return summary_.intervals == 0 && live_names_.busy() &&
           now - last_shown_ < request_.interval + kFirstNames;
  }

  // Nothing ran: an empty interval says so.
  void on_status(const collect::StreamStatus& status) {
    lost_ = status.lost;
    const auto now = TraceClock::now();
    if (awaits_first_names(now)) return;
    if (status.phase == collect::Phase::kRecording &&
        now - last_shown_ >= request_.interval * 3 / 2 + (by_runtime() ? kSilence : seconds{0}))
      show(now);
  }

  bool by_runtime() const { return !plan_.kernel && !plan_.agent; }

  void show(TraceTime now) {
    last_shown_ = now;
    for (const auto& names : live_names_.take())
      live_.on_names(names.trace, ProcessId{names.process});
    TopInterval interval{live_.cut(reader_, now)};
    interval.lost = lost_;
    interval.sampled_by = sampling_of(plan_);
    if (agent_) interval.agent = agent_->states();
    ask_for_names(interval);
    ++summary_.intervals;
    summary_.samples += interval.samples;
    if (watcher_.on_interval) watcher_.on_interval(interval);
  }

  void ask_for_names(const analyze::LiveInterval& interval) {
    for (const auto& [process, unnamed] : interval.unnamed)
      if (unnamed * kWorthAsking >= interval.ns) ask(static_cast<pid_t>(process));
  }

  // Stubs never get a name: each question makes the next one rarer.
  void ask(pid_t process) {
    auto& [next, pause] = asked_.try_emplace(process, TraceTime{}, kFirstPause).first->second;
    const auto now = TraceClock::now();
    if (now < next) return;
    next = now + pause;
    pause = std::min<seconds>(pause * 2, kLongestPause);
    live_names_.ask(process);
  }

  const TopRequest& request_;
  const TopWatcher& watcher_;
  const Plan& plan_;
  const AgentSamplers& agents_;
  nettrace::Reader reader_;
  analyze::LiveTimes live_;
  std::map<pid_t, std::pair<TraceTime, seconds>> asked_;  // when it may be asked again
  TraceTime last_shown_{};
  bool looked_ = false;  // who runs on the machine
  std::uint64_t lost_ = 0;
  TopSummary summary_;
  std::unique_ptr<AgentListener> agent_;
  MemoryNames memory_names_;  // of a process that cannot be asked
  LiveNames live_names_;      // last: its thread ends first
};

}  // namespace

double TopInterval::busy() const {
  if (seconds() <= 0) return 0;
  // Samples that came late are counted with those of the next interval.
  const auto most = static_cast<double>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  // The runtime's sampler is slower than its traces say.
  const auto time = sampled_by == Sampling::kRuntime
                        ? static_cast<std::int64_t>(samples) * kSamplerPeriod
                        : nanoseconds{static_cast<std::int64_t>(ns)};
  return std::min(most, std::chrono::duration<double>(time).count() / seconds());
}

Result<TopSummary> top(const TopRequest& request, const TopWatcher& watcher) {
  Target target;
  const auto portless = request.whole_machine ? std::optional<ipc::DotnetProcess>{}
                                              : process_without_port(request.target);
  if (request.whole_machine)
    target.process = {.pid = 0, .name = "machine", .user = ""};
  else if (portless)
    target.process = process_from(*portless);
  else
    target = TRY(find_target(request.target, kWaitForRuntime,
                             request.stop_fds.empty() ? -1 : request.stop_fds[0]));
  if (target.process.foreign)
    return fail(Errc::kUnsupported, "top cannot watch {}: it is in another pid namespace",
                target.process.name)
        .hint(
            "share the pid namespace (shareProcessNamespace in a pod), or record it with clrscope "
            "collect --diagnostic-port SOCKET");
  const ProviderWords words{.profiles = "cpu-sampling"};
  auto grant = perf_grant(target.process.pid);
  const auto agents = TRY(choose_sampler({.sampler = request.sampler,
                                          .may_load_agent = request.may_load_agent && !portless,
                                          .whole_machine = request.whole_machine,
                                          .rate = request.rate},
                                         words, target, grant));
  const auto plan = TRY(plan_recording(words, grant));
  if (portless && !plan.kernel) return fail(portless->unreachable);
  // On the heap: our own stacks are sampled too.
  auto summary = TRY(std::make_unique<Top>(request, watcher, plan, agents)->run(target.process));
  std::ranges::copy(agents.notes, std::back_inserter(summary.notes));
  if (portless)
    summary.notes.push_back(
        fmt::format("method names were read from its memory: {}", portless->unreachable.what));
  return summary;
}

}  // namespace clrscope::ops
