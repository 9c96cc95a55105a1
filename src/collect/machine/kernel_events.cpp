#include "collect/machine/kernel_events.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/machine/tracepoint_type.h"
#include "collect/perf/registers_x64.h"
#include "symbols/universal_map.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kMostEnded = 10'000;
constexpr std::size_t kMostUnnamed = 500;  // processes that have ended and wait for their names
constexpr std::chrono::milliseconds kLookPause{50};
constexpr std::size_t kMostNameBytes = 8 << 20;
constexpr std::size_t kMostTableBytes = 10 << 20;
constexpr std::chrono::seconds kTrimPause{10};
constexpr std::size_t kStackNow = 16 << 10;
constexpr std::chrono::seconds kMostAsking{1};
constexpr std::string_view kKernelPath = "[kernel.kallsyms]";

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

bool lives(ProcessId process, ThreadId thread) {
  return ::access(fmt::format("/proc/{}/task/{}", static_cast<pid_t>(process),
                              static_cast<std::uint64_t>(thread))
                      .c_str(),
                  F_OK) == 0;
}

// The threads of a process that do not run.
std::vector<ThreadId> sleeping_threads(ProcessId process) {
  std::vector<ThreadId> all;
  std::error_code gone;
  const auto folder = fmt::format("/proc/{}/task", static_cast<pid_t>(process));
  for (std::filesystem::directory_iterator it{folder, gone}, end; !gone && it != end;
       it.increment(gone)) {
    const auto stat = read_file(it->path() / "stat");
    const auto tid = parse_number(it->path().filename().native());
    if (!stat || !tid) continue;
    const auto after_name = stat->rfind(") ");
    if (after_name == std::string::npos || after_name + 2 >= stat->size()) continue;
    const auto state = (*stat)[after_name + 2];
    if (state == 'S' || state == 'D') all.push_back(ThreadId{*tid});
  }
  return all;
}

bool parse_address(std::string_view text, std::uint64_t& address) {
  if (!text.starts_with("0x")) return false;
  return std::from_chars(text.data() + 2, text.data() + text.size(), address, 16).ec == std::errc{};
}

struct WaitingPlace {
  std::uint64_t sp = 0;
  std::uint64_t pc = 0;
  friend bool operator==(const WaitingPlace&, const WaitingPlace&) = default;
};

// The last two numbers of /proc/PID/task/TID/syscall; nothing when the thread runs.
std::optional<WaitingPlace> waiting_place(ProcessId process, ThreadId thread) {
  const auto text = read_file(fmt::format("/proc/{}/task/{}/syscall", static_cast<pid_t>(process),
                                          static_cast<std::uint64_t>(thread)));
  if (!text) return {};
  const auto words = split(std::string_view{*text}.substr(0, text->find('\n')), ' ');
  if (words.size() < 3) return {};
  WaitingPlace place;
  return parse_address(words[words.size() - 2], place.sp) && parse_address(words.back(), place.pc)
             ? std::optional{place}
             : std::nullopt;
}

Who who(const perf::Origin& origin) { return {origin.process, origin.thread, origin.cpu}; }

}  // namespace

KernelEvents::KernelEvents(nettrace::Writer& writer, Settings settings)
    : writer_(writer),
      universal_(writer),
      settings_(std::move(settings)),
      names_(settings_.symbol_folder, kMostNameBytes) {}

void KernelEvents::describe(std::span<const perf::ResolvedEvent> events) {
  opened_ = events;
  for (const auto& event : events) {
    types_.push_back(nullptr);
    if (!event.format) continue;
    auto type = type_of_tracepoint(*event.format);
    type.id = static_cast<std::uint32_t>(types_.size());
    types_.back() = &universal_.add_type(std::move(type));
  }
}

void KernelEvents::process_exists(const perf::ProcessFacts& facts) {
  processes_.of(facts.process).set_container(facts.container);
  check(universal_.process_exists(started_, facts.process, facts.name, facts.container));
}

void KernelEvents::take(const perf::Record& record) {
  std::visit([this](const auto& one) { this->on(one); }, record);
}

void KernelEvents::on(const perf::Sample& sample) {
  if (static_cast<int>(sample.origin.process) <= 0) return;  // the idle task
  const auto index = static_cast<std::size_t>(sample.origin.event);
  if (index >= settings_.roles.size()) return;
  const auto role = settings_.roles[index];
  if (role == Role::kAsked) return on_asked(sample, index);
  if (role == Role::kSwitchOut && settings_.waits == WaitDetail::kNone) return;
  const auto stack = unwound(sample);
  if (role == Role::kCpu) {
    ++samples_;
    check(universal_.cpu_sample(sample.origin.time, who(sample.origin), sample.period, stack));
  } else {
    stops_running(sample.origin, stack);
  }
}

void KernelEvents::on_asked(const perf::Sample& sample, std::size_t index) {
  if (index >= opened_.size()) return;
  ++asked_;
  const auto stack = unwound(sample);
  if (!types_[index])
    return check(universal_.sample(opened_[index].name, sample.origin.time, who(sample.origin),
                                   sample.period, stack));
  payload_.clear();
  put_tracepoint(*opened_[index].format, sample.raw, payload_);
  check(universal_.event(*types_[index], sample.origin.time, who(sample.origin), payload_.bytes(),
                         stack));
}

// A thread that has ended stops once more; nothing will follow.
void KernelEvents::stops_running(const perf::Origin& origin, std::span<const std::uint64_t> stack) {
  if (ended_.erase(origin.thread) != 0) return;
  ran_.insert(origin.thread);
  waiting_[origin.thread] = {origin.process, origin.time, {stack.begin(), stack.end()}, false};
}

void KernelEvents::end_waits(TraceTime now, std::uint64_t per_second) {
  settings_.waits = WaitDetail::kNone;
  waiting_.clear();
  ended_.clear();
  tell("waits_ended", now, static_cast<ProcessId>(::getpid()), per_second);
}

void KernelEvents::tell(std::string_view name, TraceTime time, ProcessId process,
                        std::uint64_t value) {
  check(universal_.told(name, time, process, value));
}

void KernelEvents::write_open_waits(TraceTime ended, const std::set<ProcessId>& asked) {
  if (settings_.waits == WaitDetail::kNone) return;
  for (const auto process : asked)
    for (const auto thread : sleeping_threads(process))
      if (!ran_.contains(thread)) waiting_[thread] = {process, started_, {}, false};
  const auto limit = TraceClock::now() + kMostAsking;
  for (auto& [thread, waiting] : std::exchange(waiting_, {})) {
    if (!lives(waiting.process, thread)) continue;  // its last switch came after its end
    if (waiting.stack.empty() && TraceClock::now() < limit)
      waiting.stack = stack_now(waiting.process, thread, ended);
    const auto out = std::max<std::int64_t>((ended - waiting.since).count(), 0);
    check(universal_.waited(ended, {waiting.process, thread},
                            {static_cast<std::uint64_t>(out), waiting.preempted, true},
                            waiting.stack));
  }
}

// Of a thread that waits in a system call; empty when it does not, or may not be looked at.
std::vector<std::uint64_t> KernelEvents::stack_now(ProcessId process, ThreadId thread,
                                                   TraceTime time) {
  const auto place = waiting_place(process, thread);
  if (!place) return {};
  unwind::Registers registers;
  registers.set(unwind::kRsp, place->sp);
  registers.set(unwind::kRip, place->pc);
  std::vector<std::uint8_t> bytes(kStackNow);
  bytes.resize(unwind::ProcessCode{static_cast<pid_t>(process)}.read(place->sp, bytes));
  if (waiting_place(process, thread) != place) return {};  // it went on meanwhile
  auto& traced = processes_.of(process);
  const auto walked = traced.unwinder().unwind(registers, {place->sp, bytes}, frames_);
  std::vector<std::uint64_t> stack;
  for (std::size_t i = 0; i < walked.frames; ++i) {
    stack.push_back(frames_[i].pc);
    check(traced.saw(frames_[i].lookup_pc(), time, universal_));
  }
  return stack;
}

void KernelEvents::on(const perf::Switch& change) {
  if (static_cast<int>(change.origin.process) <= 0)
    return;  // the idle task, or a thread that has ended
  if (change.out) {
    if (settings_.waits == WaitDetail::kTimes) stops_running(change.origin, {});
    if (const auto stopped = waiting_.find(change.origin.thread); stopped != waiting_.end())
      stopped->second.preempted = change.preempted;
    return;
  }
  ran_.insert(change.origin.thread);
  const auto waited = waiting_.find(change.origin.thread);
  if (waited == waiting_.end()) return;
  ++switches_;
  const auto out = std::max<std::int64_t>((change.origin.time - waited->second.since).count(), 0);
  check(universal_.waited(change.origin.time, who(change.origin),
                          {static_cast<std::uint64_t>(out), waited->second.preempted, false},
                          waited->second.stack));
  waiting_.erase(waited);
}

void KernelEvents::on(const perf::Mapping& mapping) {
  check(processes_.of(mapping.process).map(mapping, time_of(mapping.origin), code_, universal_));
  if (settings_.on_runtime && mapping.origin.time > started_ &&
      mapping.path.ends_with("/libcoreclr.so"))
    settings_.on_runtime(mapping.process);
}

void KernelEvents::on(const perf::ThreadName& name) {
  name_thread(name.process, name.thread, std::string{name.name});
  if (!name.exec) return;
  // It may have gone by now: then it was where its parent is.
  const auto pid = static_cast<pid_t>(name.process);
  auto container = container_of(pid);
  const auto* before = processes_.find(name.process);
  if (before && ::access(fmt::format("/proc/{}/ns/mnt", pid).c_str(), F_OK) != 0)
    container = before->container();
  retire(name.process, time_of(name.origin));
  check(universal_.process_created(time_of(name.origin), name.process, name.name, container));
  processes_.of(name.process).set_container(std::move(container));
}

void KernelEvents::name_thread(ProcessId process, ThreadId thread, std::string name) {
  writer_.name_thread(process, thread, name);
  thread_names_[thread] = std::move(name);
}

void KernelEvents::on(const perf::Task& task) {
  if (task.kind == perf::Task::Kind::kExit) {
    waiting_.erase(task.thread);
    ran_.erase(task.thread);
    thread_names_.erase(task.thread);
    writer_.thread_ended(task.process, task.thread, task.time.time_since_epoch().count());
    if (ended_.size() >= kMostEnded) ended_.clear();  // their last switch bore no name
    if (settings_.waits != WaitDetail::kNone) ended_.insert(task.thread);
  } else {
    ended_.erase(task.thread);
    // It has the name of who made it until it takes another: the kernel says nothing of that.
    if (const auto maker = thread_names_.find(task.parent_thread); maker != thread_names_.end())
      name_thread(task.process, task.thread, std::string{maker->second});
  }
  if (!task.is_process()) return;
  if (task.kind == perf::Task::Kind::kFork) {
    retire(task.process, task.time);  // the number was another's, whose end was not told
    if (const auto* parent = processes_.find(task.parent_process))
      processes_.of(task.process).inherit(*parent);
    return;
  }
  check(universal_.process_exited(task.time, task.process));
  writer_.process_ended(task.process, task.time.time_since_epoch().count());
  retire(task.process, task.time);
}

// Names are not looked for at once: reading files takes time, and the rings fill meanwhile.
void KernelEvents::retire(ProcessId process, TraceTime time) {
  auto gone = processes_.take(process);
  auto kernel = take_kernel_seen(process);
  auto told = kernel_written_.extract(process);
  if (!gone && !kernel.empty()) gone = std::make_unique<TracedProcess>(process);
  if (!gone) return;
  gone->forget_code();
  to_name_.push_back({std::move(gone), std::move(kernel),
                      told.empty() ? KernelTold{} : std::move(told.mapped()), time});
}

std::unordered_set<std::uint64_t> KernelEvents::take_kernel_seen(ProcessId process) {
  auto seen = kernel_seen_.extract(process);
  return seen.empty() ? std::unordered_set<std::uint64_t>{} : std::move(seen.mapped());
}

Result<> KernelEvents::catch_up(std::chrono::nanoseconds at_most) {
  const auto end = TraceClock::now() + at_most;
  const bool named = !to_name_.empty();
  while (!to_name_.empty() && (to_name_.size() > kMostUnnamed || TraceClock::now() < end)) {
    auto& ended = to_name_.front();
    // Whether its runtime told its names before it ended is not known yet.
    TRY(write_symbols(*ended.process, {.which = TracedProcess::ImageNames::kAll}, ended.kernel,
                      ended.told, ended.time));
    to_name_.pop_front();
  }
  if (named) names_.rest();
  TRY(processes_.for_each([](TracedProcess& process) -> Result<> {
    process.look_at_stubs();
    return {};
  }));
  if (const auto now = TraceClock::now();
      now >= next_trim_ || code_.memory_bytes() > 2 * kMostTableBytes) {
    next_trim_ = now + kTrimPause;
    code_.trim(kMostTableBytes);
  }
  return {};
}

std::span<const std::uint64_t> KernelEvents::unwound(const perf::Sample& sample) {
  stack_.clear();
  const auto& kernel = sample.callchain.kernel;
  for (std::size_t i = 0; i < kernel.size(); ++i) stack_.push_back(kernel[i]);
  if (!stack_.empty()) kernel_seen_[sample.origin.process].insert(stack_.begin(), stack_.end());
  if (!sample.registers.empty()) {
    auto& process = processes_.of(sample.origin.process);
    const auto result = walk(sample, process);
    for (std::size_t i = 0; i < result.frames; ++i) {
      stack_.push_back(frames_[i].pc);
      check(process.saw(frames_[i].lookup_pc(), time_of(sample.origin), universal_));
    }
    if (result.stop == unwind::Stop::kNoMemory &&
        append_kernels_walk(sample, result.frames, process))
      ++mended_;
  }
  return stack_;
}

unwind::Unwound KernelEvents::walk(const perf::Sample& sample, TracedProcess& process) {
  const auto registers = registers_of(sample.registers);
  const unwind::StackCopy stack{registers[unwind::kRsp], sample.stack};
  const auto result = process.unwinder().unwind(registers, stack, frames_);
  const bool nowhere =
      result.stop == unwind::Stop::kBadAddress || !process.covers(registers[unwind::kRip]);
  if (!nowhere || !found_new_mappings(process, sample.origin.time)) return result;
  process.unwinder().take_back(result);
  return process.unwinder().unwind(registers, stack, frames_);
}

// What the kernel did not tell (memory that was moved, records that the ring had no room for) can
// still be seen. That takes time, and a stack that went astray leads to nowhere too: not often.
bool KernelEvents::found_new_mappings(TracedProcess& process, TraceTime now) {
  if (now < next_look_ || !process.may_look_again(now)) return false;
  next_look_ = now + kLookPause;
  bool found = false;
  const auto read =
      perf::read_mappings(static_cast<pid_t>(process.id()), now, [&](const perf::Mapping& mapping) {
        const auto last = mapping.address + mapping.size - 1;
        if (process.covers(mapping.address) && process.covers(last)) return;
        found = true;
        on(mapping);
      });
  return read && found;
}

// The copy of the stack ended too soon. The kernel has followed the frame pointers through all of
// it: where its walk passes one of our last frames, the rest is taken from there. Code without
// frames may have led it astray: nobody returns to where no code is.
bool KernelEvents::append_kernels_walk(const perf::Sample& sample, std::size_t frames,
                                       TracedProcess& process) {
  const auto& walk = sample.callchain.user;
  for (std::size_t back = 1; back <= std::min<std::size_t>(frames, 8); ++back) {
    for (std::size_t i = 0; i < walk.size(); ++i) {
      if (walk[i] != frames_[frames - back].pc) continue;
      stack_.resize(stack_.size() - back + 1);
      for (++i; i < walk.size(); ++i) {
        if (!process.covers(walk[i] - 1)) return false;
        stack_.push_back(walk[i]);
        check(process.saw(walk[i] - 1, time_of(sample.origin), universal_));
      }
      return true;
    }
  }
  return false;
}

Result<> KernelEvents::write_names(TraceTime now, const std::set<ProcessId>& silent) {
  TRY(catch_up(std::chrono::nanoseconds::max() / 2));
  for (const auto& [process, seen] : kernel_seen_)
    (void)processes_.of(process);  // kernel threads have nothing else
  return processes_.for_each([&](TracedProcess& process) {
    return write_symbols(process, managed_names(process.id(), silent),
                         take_kernel_seen(process.id()), kernel_written_[process.id()], now);
  });
}

TracedProcess::ManagedNames KernelEvents::managed_names(ProcessId process,
                                                        const std::set<ProcessId>& silent) const {
  using enum TracedProcess::ImageNames;
  const auto given = [](const FindMethod& find) { return find ? &find : nullptr; };
  const auto* const helper = given(settings_.find_helper);
  if (silent.contains(process))
    return {.which = kAll, .find = given(settings_.find_method), .helper = helper};
  const auto* const known = processes_.find(process);
  const bool may_have = known && known->maps("/Microsoft.AspNetCore.");
  return {.which = kUntold,
          .find = may_have ? given(settings_.find_lambda) : nullptr,
          .helper = helper};
}

// The names of what was seen of a process, in native code and in the kernel.
Result<> KernelEvents::write_symbols(TracedProcess& process,
                                     const TracedProcess::ManagedNames& managed,
                                     const std::unordered_set<std::uint64_t>& kernel,
                                     KernelTold& told, TraceTime time) {
  TRY(process.write_symbols(time, managed, names_, universal_));
  if (settings_.image_lines) TRY(process.write_image_lines(time, names_, universal_));
  return write_kernel_symbols(process.id(), kernel, told, time);
}

Result<bool> KernelEvents::write_some_names(TraceTime time, std::chrono::nanoseconds at_most) {
  const auto end = TraceClock::now() + at_most;
  if (!naming_) {
    naming_ = ProcessId{0};
    for (const auto& [process, seen] : kernel_seen_)
      (void)processes_.of(process);  // kernel threads have nothing else
  }
  while (auto* process = processes_.at_or_after(*naming_)) {
    if (TraceClock::now() >= end) return false;
    naming_ = process->id();
    auto& unnamed = unnamed_[process->id()];
    if (!TRY(process->write_some_symbols(time, end, names_, universal_, unnamed))) return false;
    if (unnamed.empty()) unnamed_.erase(process->id());
    if (const auto kernel = take_kernel_seen(process->id()); !kernel.empty())
      TRY(write_kernel_symbols(process->id(), kernel, kernel_written_[process->id()], time));
    naming_ = ProcessId{static_cast<std::int32_t>(process->id()) + 1};
  }
  naming_.reset();
  names_.rest();
  return true;
}

Result<> KernelEvents::write_new_names(TraceTime now, const std::set<ProcessId>& silent) {
  for (auto& [process, seen] : kernel_seen_)
    std::erase_if(seen, [&](std::uint64_t at) { return !kernel_told_.insert(at).second; });
  std::erase_if(kernel_seen_, [](const auto& one) { return one.second.empty(); });
  for (const auto& [process, seen] : kernel_seen_) (void)processes_.of(process);
  return processes_.for_each([&](TracedProcess& process) -> Result<> {
    TRY(process.write_new_symbols(now, managed_names(process.id(), silent), names_, universal_));
    KernelTold none;
    return write_kernel_symbols(process.id(), take_kernel_seen(process.id()), none, now);
  });
}

Result<> KernelEvents::write_kernel_symbols(ProcessId process,
                                            const std::unordered_set<std::uint64_t>& kernel,
                                            KernelTold& told, TraceTime time) {
  if (kernel.empty() || !settings_.kernel_names) return {};
  if (told.mapping == MappingId::kNone)
    told.mapping =
        TRY(universal_.mapping(time, process, {kKernelStart, ~0ULL, 0, kKernelPath}, ""));
  for (const auto address : kernel) {
    const auto function = kernel_names().find(address);
    if (function && told.functions.insert(function->start).second)
      TRY(universal_.symbol(time, process, told.mapping, function->start, function->last,
                            function->name));
  }
  return {};
}

const KernelNames& KernelEvents::kernel_names() {
  if (!kernel_names_) {
    kernel_names_ = KernelNames::read();
    if (kernel_names_->empty())
      notes_.push_back(
          "kernel symbols are unavailable (they require root or CAP_SYSLOG, and "
          "kernel.kptr_restrict below 2)");
  }
  return *kernel_names_;
}

std::vector<std::pair<std::string, std::uint64_t>> KernelEvents::broken_stacks() const {
  auto stops = processes_.stops();
  auto& too_short = stops[static_cast<std::size_t>(unwind::Stop::kNoMemory)];
  too_short -= std::min(too_short, mended_);
  std::vector<std::pair<std::string, std::uint64_t>> broken;
  for (std::size_t i = 1; i < stops.size(); ++i)
    if (stops[i] > 0) broken.emplace_back(unwind::name_of(static_cast<unwind::Stop>(i)), stops[i]);
  return broken;
}

void KernelEvents::check(Result<> done) {
  if (!done && !error_) error_ = std::move(done).error();
}

}  // namespace clrscope::collect
