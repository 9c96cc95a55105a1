#include "collect/machine/machine_recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "base/proc.h"
#include "collect/machine/kernel_names.h"
#include "collect/machine/processes.h"
#include "collect/machine/runtime_source.h"
#include "collect/machine/universal.h"
#include "collect/perf/event_set.h"
#include "collect/perf/registers_x64.h"
#include "collect/perf/snapshot.h"
#include "ipc/discover.h"
#include "symbols/universal_map.h"

namespace clrscope::collect {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{100};
constexpr std::chrono::seconds kRescan{1};  // for .NET processes that start meanwhile
constexpr std::size_t kMaxFrames = 512;
constexpr std::size_t kMostEnded = 10'000;
constexpr std::string_view kKernelPath = "[kernel.kallsyms]";

// In the order of the wish.
constexpr perf::EventIndex kCpu{0};

unwind::Registers registers_of(const perf::UserRegisters& from) {
  static constexpr std::pair<unsigned, unwind::Reg> kPairs[] = {
      {perf::x64::kRax, unwind::kRax}, {perf::x64::kRbx, unwind::kRbx},
      {perf::x64::kRcx, unwind::kRcx}, {perf::x64::kRdx, unwind::kRdx},
      {perf::x64::kRsi, unwind::kRsi}, {perf::x64::kRdi, unwind::kRdi},
      {perf::x64::kRbp, unwind::kRbp}, {perf::x64::kRsp, unwind::kRsp},
      {perf::x64::kRip, unwind::kRip}, {perf::x64::kR8, unwind::kR8},
      {perf::x64::kR9, unwind::kR9},   {perf::x64::kR10, unwind::kR10},
      {perf::x64::kR11, unwind::kR11}, {perf::x64::kR12, unwind::kR12},
      {perf::x64::kR13, unwind::kR13}, {perf::x64::kR14, unwind::kR14},
      {perf::x64::kR15, unwind::kR15}};
  unwind::Registers to;
  for (const auto& [bit, reg] : kPairs)
    if (const auto value = from.get(bit)) to.set(reg, *value);
  return to;
}

nettrace::TraceInfo trace_info(const MachineWish& wish) {
  nettrace::TraceInfo info{.version = 6,
                           .start = wall_now(),
                           .sync_ticks = TraceClock::now().time_since_epoch().count(),
                           .ticks_per_second = 1'000'000'000};
  info.processors = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  info.sampling_ns = 1'000'000'000 / std::max(1U, wish.rate);
  return info;
}

perf::SessionWish perf_wish(const MachineWish& wish) {
  perf::SessionWish session{
      .scope = wish.processes.empty() ? perf::Scope::kMachine : perf::Scope::kBestFor,
      .processes = wish.processes};
  session.events.push_back(perf::cpu_samples(wish.rate));
  if (wish.waits == WaitsWish::kStacks) {
    session.events.push_back(perf::context_switch_samples());
    session.events.back().user_callchain = false;
  }
  session.switches = wish.waits != WaitsWish::kNone;
  return session;
}

class MachineRecorder {
 public:
  // Without events it is the runtimes alone.
  MachineRecorder(const MachineWish& wish, const nettrace::WriteBytes& write,
                  std::optional<perf::EventSet> events)
      : wish_(wish),
        writer_(trace_info(wish), write),
        universal_(writer_),
        events_(std::move(events)),
        names_(wish.symbol_folder) {}

  Result<MachineOutcome> run() {
    epoll_ = UniqueFd{::epoll_create1(EPOLL_CLOEXEC)};
    for (const int fd : wish_.stop_fds) watch(fd);
    TRY(begin());
    if (wish_.on_started) wish_.on_started();
    while (outcome_.asked_by.empty()) {
      TRY(turn());
      look_for_end();
    }
    outcome_.recorded = TraceClock::now() - started_;
    TRY(end());
    return std::move(outcome_);
  }

 private:
  Result<> begin() {
    started_ = TraceClock::now();
    if (events_) TRY(events_->enable());
    const perf::SnapshotSink sink{.on_process =
                                      [&](const perf::ProcessFacts& facts) {
                                        check(universal_.process_exists(
                                            started_, facts.process, facts.name, facts.container));
                                      },
                                  .on_record = [&](const perf::Record& record) { take(record); }};
    const auto totals = TRY(perf::take_snapshot(wish_.processes, started_, sink));
    if (totals.denied > 0)
      outcome_.notes.push_back(
          fmt::format("mappings of {} processes may not be read: their native frames have no names",
                      totals.denied));
    start_runtimes();
    return checked();
  }

  // Waits a moment and takes what there is.
  Result<> turn() {
    TRY(wait());
    drain();
    read_runtimes();
    if (wish_.later_runtimes && TraceClock::now() - last_scan_ >= kRescan) start_runtimes();
    report(Phase::kRecording);
    return checked();
  }

  Result<> wait() {
    if (events_) {
      (void)TRY(events_->wait(kLook, epoll_.get()));
    } else {
      epoll_event ready;
      (void)::epoll_wait(epoll_.get(), &ready, 1, static_cast<int>(kLook.count()));
    }
    return {};
  }

  void drain() {
    if (events_) events_->drain([&](const perf::Record& record) { take(record); });
  }

  void look_for_end() {
    for (const int fd : wish_.stop_fds)
      if (stopped_by(fd)) outcome_.asked_by = "signal";
    if (wish_.limits.duration && TraceClock::now() - started_ >= *wish_.limits.duration)
      outcome_.asked_by = "duration";
    if (wish_.limits.max_size && writer_.summary().bytes >= *wish_.limits.max_size)
      outcome_.asked_by = "size";
    if (wish_.target_ended && wish_.target_ended()) outcome_.asked_by = "target ended";
  }

  static bool stopped_by(int fd) {
    pollfd ready{fd, POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }

  Result<> end() {
    if (events_) events_->disable();
    drain();
    for (auto& runtime : runtimes_) runtime->stop();
    while (std::ranges::any_of(runtimes_, [](const auto& runtime) { return !runtime->ended(); })) {
      epoll_event ready;
      (void)::epoll_wait(epoll_.get(), &ready, 1, static_cast<int>(kLook.count()));
      read_runtimes();
      report(Phase::kStopping);
    }
    const auto now = TraceClock::now();
    for (const auto& [process, seen] : kernel_seen_)
      (void)processes_.of(process);  // kernel threads have nothing else
    TRY(processes_.for_each(
        [&](const TracedProcess& process) { return write_symbols(process, now); }));
    add_losses();
    TRY(checked());
    TRY(writer_.finish());
    outcome_.written = writer_.summary();
    return {};
  }

  // --- runtimes ---

  void start_runtimes() {
    last_scan_ = TraceClock::now();
    if (wish_.later_runtimes) {
      if (const auto found = ipc::find_processes())
        for (const auto& process : *found) start_runtime(process);
      return;
    }
    for (const auto pid : wish_.processes)
      if (const auto process = ipc::find_process(pid)) start_runtime(*process);
  }

  void start_runtime(const ipc::DotnetProcess& process) {
    if (!process.reachable() || process.status.state == 'T' ||
        !known_runtimes_.insert(process.pid).second)
      return;
    auto started = RuntimeSource::start(
        ProcessId{process.pid}, ipc::connect_endpoint(process.socket), wish_.runtime, writer_);
    if (!started) {
      outcome_.notes.push_back(fmt::format("no .NET events of process {} ({}): {}", process.pid,
                                           process.name, started.error().what));
      return;
    }
    watch((*started)->fd());
    runtimes_.push_back(std::move(*started));
    ++outcome_.runtimes;
  }

  void read_runtimes() {
    for (auto& runtime : runtimes_) {
      if (runtime->ended()) continue;
      check(runtime->read());
      if (runtime->ended()) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, runtime->fd(), nullptr);
    }
  }

  void watch(int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  // --- records of the kernel ---

  void take(const perf::Record& record) {
    std::visit([this](const auto& one) { this->on(one); }, record);
  }

  void on(const perf::Sample& sample) {
    if (static_cast<int>(sample.origin.process) <= 0) return;  // the idle task
    const auto stack = unwound(sample);
    if (sample.origin.event == kCpu) {
      ++outcome_.samples;
      check(universal_.sample("cpu", sample.origin.time, who(sample.origin), 1, stack));
    } else {
      stops_running(sample.origin, stack);
    }
  }

  // A thread that has ended stops once more; nothing will follow.
  void stops_running(const perf::Origin& origin, std::span<const std::uint64_t> stack) {
    if (ended_.erase(origin.thread) == 0)
      waiting_[origin.thread] = {origin.time, {stack.begin(), stack.end()}};
  }

  void on(const perf::Switch& change) {
    if (static_cast<int>(change.origin.process) <= 0)
      return;  // the idle task, or a thread that has ended
    if (change.out) {
      if (wish_.waits == WaitsWish::kTimes) stops_running(change.origin, {});
      return;
    }
    const auto waited = waiting_.find(change.origin.thread);
    if (waited == waiting_.end()) return;
    ++outcome_.switches;
    const auto out = change.origin.time - waited->second.since;
    check(universal_.sample("cswitch", change.origin.time, who(change.origin),
                            static_cast<std::uint64_t>(std::max<std::int64_t>(out.count(), 0)),
                            waited->second.stack));
    waiting_.erase(waited);
  }

  void on(const perf::Mapping& mapping) {
    check(processes_.of(mapping.process).map(mapping, time_of(mapping.origin), code_, universal_));
  }

  void on(const perf::ThreadName& name) {
    writer_.name_thread(name.process, name.thread, std::string{name.name});
    if (!name.exec) return;
    processes_.of(name.process).forget_mappings();
    check(universal_.process_created(time_of(name.origin), name.process, name.name));
  }

  void on(const perf::Task& task) {
    if (task.kind == perf::Task::Kind::kExit) {
      waiting_.erase(task.thread);
      if (ended_.size() >= kMostEnded) ended_.clear();  // their last switch bore no name
      if (wish_.waits != WaitsWish::kNone) ended_.insert(task.thread);
    } else {
      ended_.erase(task.thread);
    }
    if (!task.is_process() || task.kind != perf::Task::Kind::kExit) return;
    check(write_symbols(processes_.of(task.process), task.time));
    check(universal_.process_exited(task.time, task.process));
    processes_.forget(task.process);  // short-lived ones come by the thousand
  }

  void on(const auto&) {}  // losses are in the set's own count

  std::span<const std::uint64_t> unwound(const perf::Sample& sample) {
    stack_.clear();
    const auto& kernel = sample.callchain.kernel;
    for (std::size_t i = 0; i < kernel.size(); ++i) stack_.push_back(kernel[i]);
    if (!stack_.empty()) kernel_seen_[sample.origin.process].insert(stack_.begin(), stack_.end());
    if (!sample.registers.empty()) {
      auto& process = processes_.of(sample.origin.process);
      const auto registers = registers_of(sample.registers);
      const auto result =
          process.unwinder().unwind(registers, {registers[unwind::kRsp], sample.stack}, frames_);
      for (std::size_t i = 0; i < result.frames; ++i) {
        stack_.push_back(frames_[i].pc);
        process.saw(frames_[i].lookup_pc());
      }
      if (result.stop == unwind::Stop::kNoMemory &&
          append_kernels_walk(sample.callchain.user, result.frames, process))
        ++mended_;
    }
    return stack_;
  }

  // The copy of the stack ended too soon. The kernel has followed the frame pointers through all of
  // it: where its walk passes one of our last frames, the rest is taken from there.
  bool append_kernels_walk(const StackView& walk, std::size_t frames, TracedProcess& process) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(frames, 8); ++back) {
      for (std::size_t i = 0; i < walk.size(); ++i) {
        if (walk[i] != frames_[frames - back].pc) continue;
        stack_.resize(stack_.size() - back + 1);
        for (++i; i < walk.size(); ++i) {
          stack_.push_back(walk[i]);
          process.saw(walk[i] - 1);
        }
        return true;
      }
    }
    return false;
  }

  static Who who(const perf::Origin& origin) { return {origin.process, origin.thread, origin.cpu}; }
  TraceTime time_of(const perf::Origin& origin) const { return std::max(origin.time, started_); }

  // --- the end ---

  // The names of what was seen of a process, in native code and in the kernel.
  Result<> write_symbols(const TracedProcess& process, TraceTime time) {
    TRY(process.write_symbols(time, names_, universal_));
    const auto seen = kernel_seen_.extract(process.id());
    if (seen.empty()) return {};
    const auto mapping =
        TRY(universal_.mapping(time, process.id(), {kKernelStart, ~0ULL, 0, kKernelPath}, ""));
    std::unordered_set<const KernelNames::Function*> written;
    for (const auto address : seen.mapped()) {
      const auto* function = kernel_names().find(address);
      if (function && written.insert(function).second)
        TRY(universal_.symbol(time, process.id(), mapping, function->start, function->last,
                              function->name));
    }
    return {};
  }

  const KernelNames& kernel_names() {
    if (!kernel_names_) {
      kernel_names_ = KernelNames::read();
      if (kernel_names_->empty())
        outcome_.notes.push_back(
            "the kernel hides its addresses: its frames have no names (kernel.kptr_restrict)");
    }
    return *kernel_names_;
  }

  void add_losses() {
    const auto stats = events_ ? events_->stats() : perf::SetStats{};
    const auto kernel_lost = stats.lost + stats.hardware_lost;
    if (kernel_lost > 0) universal_.add_lost(kernel_lost);
    outcome_.lost = kernel_lost;
    for (const auto& runtime : runtimes_) {
      outcome_.lost += runtime->lost();
      if (!runtime->whole())
        outcome_.notes.push_back(
            fmt::format("process {} ended or fell silent before its method names came",
                        static_cast<int>(runtime->process())));
    }
    auto stops = processes_.stops();
    auto& too_short = stops[static_cast<std::size_t>(unwind::Stop::kNoMemory)];
    too_short -= std::min(too_short, mended_);
    for (std::size_t i = 1; i < stops.size(); ++i) {
      outcome_.broken_stacks += stops[i];
      if (stops[i] > 0)
        outcome_.broken_by_reason.emplace_back(unwind::name_of(static_cast<unwind::Stop>(i)),
                                               stops[i]);
    }
  }

  void report(Phase phase) {
    const auto now = TraceClock::now();
    if (!wish_.on_status || now - last_status_ < 2 * kLook) return;
    last_status_ = now;
    const auto& written = writer_.summary();
    wish_.on_status({phase, now - started_, written.bytes, written.events,
                     events_ ? events_->stats().lost : 0});
  }

  void check(Result<> done) {
    if (!done && !error_) error_ = std::move(done).error();
  }
  Result<> checked() {
    if (error_) return fail(*error_);
    return {};
  }

  struct Waiting {
    TraceTime since;
    std::vector<std::uint64_t> stack;
  };

  const MachineWish& wish_;
  nettrace::Writer writer_;
  UniversalWriter universal_;
  std::optional<perf::EventSet> events_;
  unwind::CodeMap code_;
  NameStore names_;
  ProcessTable processes_;
  std::vector<std::unique_ptr<RuntimeSource>> runtimes_;
  std::unordered_set<pid_t> known_runtimes_;
  std::unordered_map<ThreadId, Waiting> waiting_;
  std::unordered_set<ThreadId> ended_;  // whose last switch has not been read yet
  std::map<ProcessId, std::unordered_set<std::uint64_t>> kernel_seen_;
  std::optional<KernelNames> kernel_names_;  // read when first needed
  std::array<unwind::Frame, kMaxFrames> frames_{};
  std::vector<std::uint64_t> stack_;
  std::uint64_t mended_ = 0;  // stacks whose copy was too short, continued by the kernel's walk
  UniqueFd epoll_;
  TraceTime started_{};
  TraceTime last_scan_{};
  TraceTime last_status_{};
  std::optional<Error> error_;
  MachineOutcome outcome_;
};

}  // namespace

Result<MachineOutcome> record_machine(const MachineWish& wish, const nettrace::WriteBytes& write) {
  std::optional<perf::EventSet> events;
  if (wish.kernel) events.emplace(TRY(perf::EventSet::open(perf_wish(wish))));
  return MachineRecorder{wish, write, std::move(events)}.run();
}

}  // namespace clrscope::collect
