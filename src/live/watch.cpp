#include "live/watch.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/cgroup.h"
#include "base/proc.h"
#include "base/text.h"
#include "live/cpu_meter.h"

namespace clrscope::live {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kListFor{2};     // a list is good for so long
constexpr std::chrono::minutes kAllowedFor{1};  // and for those that are known
constexpr std::size_t kMostEnded = 256;
constexpr std::size_t kMostAsks = 1024;
constexpr std::chrono::minutes kAskedFor{1};

nanoseconds thread_cpu() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + nanoseconds{used.tv_nsec};
}

std::chrono::milliseconds whole_ms(nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::max(time, nanoseconds{0}));
}

Result<ops::ExaminationAnswer> quick_look(const ops::TargetRequest& target, ops::Bedside& bedside) {
  static const auto quick = ops::quick_findings();
  ops::ExamineRequest request{.target = target, .only = quick, .messages = false};
  request.stop = ops::StopPolicy::kNever;
  request.duration = nanoseconds{0};
  return ops::answer_of(TRY(ops::examine(request, {}, &bedside)));
}

// Of a process that could not be examined at all.
ops::ExaminationAnswer not_run(const Error& why) {
  ops::ExaminationAnswer answer{.time = wall_now()};
  const auto reason = why.hint.empty() ? why.what : fmt::format("{}; {}", why.what, why.hint);
  const auto quick = ops::quick_findings();
  for (const auto* finding : ops::findings())
    if (std::ranges::find(quick, finding->id) != quick.end())
      answer.examined.push_back({finding->id, finding->title, ops::Outcome::kNotRun, reason});
  return answer;
}

// Whether the runtime's own library was run in a process beside us, which took as long as we did.
bool by_worker(const ops::ExaminationAnswer& seen) {
  return name_of(seen.source).find("DAC") != std::string_view::npos;
}

const ops::ExaminedAnswer* first_not_run(const ops::ExaminationAnswer& seen) {
  const auto at =
      std::ranges::find(seen.examined, ops::Outcome::kNotRun, &ops::ExaminedAnswer::outcome);
  return at == seen.examined.end() ? nullptr : &*at;
}

// What harms outweighs what could not be seen; that outweighs what does not harm.
WatchSeverity severity_of(const ops::ExaminationAnswer& seen) {
  const auto worst = std::ranges::max_element(seen.findings, {}, &ops::FoundAnswer::severity);
  const bool any = worst != seen.findings.end();
  if (any && worst->severity == ops::Severity::kError) return WatchSeverity::kError;
  if (any && worst->severity == ops::Severity::kWarning) return WatchSeverity::kWarning;
  if (first_not_run(seen) != nullptr) return WatchSeverity::kUnknown;
  return any ? WatchSeverity::kInfo : WatchSeverity::kNone;
}

// When the newest of its problems began; nothing: none did since it is watched.
std::optional<WallTime> trouble_began(const FindingHistory& history) {
  std::optional<WallTime> newest;
  for (const auto& one : history.current())
    if (one.severity != ops::Severity::kInfo && one.not_before)
      newest = std::max(newest, std::optional{one.began});
  return newest;
}

}  // namespace

struct Watch::Entry {
  Process process{};
  // Identifies the process together with the pid; 0: another namespace.
  std::uint64_t start_ticks = 0;
  std::optional<std::uint64_t> memory_limit{}, threads{};
  CpuMeter cpu{};
  ops::Bedside bedside{};  // of the thread that looks, while one does
  bool open = false;       // it holds something
  bool looking = false;
  TraceTime began{};  // the last look
  std::optional<ops::ExaminationAnswer> seen{};
  std::optional<TraceTime> looked{};
  WatchCost cost{};
  std::size_t looks = 0;
  FindingHistory history{};
  std::optional<TraceTime> ended{};
  WallTime ended_at{};
};

Watch::Watch(WatchSetting setting) : setting_(std::move(setting)), schedule_(setting_.rhythm) {
  const std::lock_guard lock{mutex_};
  start_helper(0);
}

Watch::~Watch() {
  const std::lock_guard lock{mutex_};
  ending_ = true;  // no thread is added from now on
}

// The first does all, each of the others when so many looks are late. It waits for that from now
// on.
void Watch::start_helper(std::size_t helper) {
  if (ending_ || threads_.size() != helper || helper > setting_.rhythm.processes) return;
  threads_.emplace_back([this, helper](const std::stop_token& stop) { work(stop, helper); });
}

void Watch::changed() {
  ++changes_;
  change_.notify_all();
}

// What /proc says of it now.
void Watch::refresh(Entry& entry, TraceTime now) {
  if (entry.ended || entry.start_ticks == 0) return;
  const auto status = proc_status(entry.process.pid);
  if (!status || status->start_ticks != entry.start_ticks || status->state == 'Z' ||
      status->state == 'X')
    return end(entry, now);
  entry.cpu.add(now, status->cpu);
  entry.threads = status->threads;
  entry.process.up = status->age;
  if (status->rss_bytes > 0) entry.process.rss_bytes = status->rss_bytes;
}

void Watch::end(Entry& entry, TraceTime now) {
  entry.ended = now;
  entry.ended_at = wall_now();
  tell(entry, entry.history.end(entry.ended_at));
  schedule_.drop(entry.process.pid);
  changed();
}

// Lists the processes unless the last list is younger than that.
Result<> Watch::list_again(nanoseconds oldest) {
  const std::lock_guard one_at_a_time{listing_};
  {
    const std::lock_guard lock{mutex_};
    if (listed_ && TraceClock::now() - *listed_ < oldest) return {};
  }
  const auto found = TRY(setting_.list());
  const std::lock_guard lock{mutex_};
  take_over(found, TraceClock::now());
  return {};
}

void Watch::take_over(const std::vector<Process>& processes, TraceTime now) {
  listed_ = now;
  shown_.clear();
  for (const auto& process : processes) {
    const auto status =
        process.foreign ? fail(Errc::kNotFound, "it has no /proc here") : proc_status(process.pid);
    if (!process.foreign && !status) continue;  // it ended just now
    const auto ticks = status ? status->start_ticks : 0;
    auto& entry = entries_[process.pid];
    const bool same = entry && !entry->ended && entry->start_ticks == ticks &&
                      (ticks != 0 || entry->process.uid == process.uid);
    if (!same) {
      schedule_.drop(process.pid);
      entry = std::make_shared<Entry>();
      entry->start_ticks = ticks;
      if (ticks != 0) entry->memory_limit = cgroup_limits(process.pid).memory_bytes;
    }
    const auto runtime = std::move(entry->process.runtime);
    entry->process = process;
    if (process.runtime.empty()) entry->process.runtime = runtime;
    shown_.push_back(process.pid);
  }
  for (const auto& [pid, entry] : entries_)
    if (!entry->ended && std::ranges::find(shown_, pid) == shown_.end()) end(*entry, now);
  forget(now);
}

// Those that ended long ago.
void Watch::forget(TraceTime now) {
  std::vector<std::pair<TraceTime, pid_t>> ended;
  for (const auto& [pid, entry] : entries_)
    if (entry->ended) ended.emplace_back(*entry->ended, pid);
  std::ranges::sort(ended);
  for (std::size_t i = 0; i < ended.size(); ++i)
    if (now - ended[i].first > setting_.keep || i + kMostEnded < ended.size())
      entries_.erase(ended[i].second);
}

// Lets go of what is open of processes that nobody asks about any more, without the lock: a worker
// may be waited for.
void Watch::close_unasked(std::unique_lock<std::mutex>& lock) {
  std::vector<ops::Bedside> closing;
  for (const auto& [pid, entry] : entries_)
    if (entry->open && !entry->looking && !schedule_.has(pid)) {
      closing.push_back(std::exchange(entry->bedside, {}));
      entry->open = false;
    }
  if (closing.empty()) return;
  lock.unlock();
  closing.clear();
  lock.lock();
}

WatchedProcess Watch::line_of(const Entry& entry, TraceTime now) const {
  auto line = watched_process(entry.process);
  line.cpu_percent = entry.cpu.percent();
  line.memory_limit_bytes = entry.memory_limit;
  line.threads = entry.threads;
  if (setting_.requests && !entry.ended) {
    auto rate = setting_.requests(entry.process);
    line.requests_per_second = rate.per_second;
    line.requests_unknown = std::move(rate.unknown);
  }
  if (!entry.ended && !schedule_.has(entry.process.pid))
    line.note = fmt::format("not checked: {} other processes are", setting_.rhythm.processes);
  if (!entry.seen) return line;
  const auto& seen = *entry.seen;
  line.severity = severity_of(seen);
  line.findings = seen.findings.size();
  if (!seen.findings.empty()) line.verdict = seen.findings.front().title;
  if (const auto* why = first_not_run(seen)) line.note = why->reason;
  line.checked_at = seen.time;
  line.checked_ago = whole_ms(now - *entry.looked);
  return line;
}

WatchAnswer Watch::answer_of(const Entry& entry, TraceTime now) const {
  WatchAnswer answer{.process = line_of(entry, now),
                     .every = whole_ms(schedule_.every(entry.process.pid, now)),
                     .looks = entry.looks,
                     .cost = entry.cost};
  answer.checked_at = answer.process.checked_at;
  answer.checked_ago = answer.process.checked_ago;
  if (entry.ended) {
    answer.ended = "the process has ended";
    answer.ended_at = entry.ended_at;
  }
  if (entry.seen) {
    answer.findings = entry.seen->findings;
    answer.history = entry.history.spans();
    answer.examined = entry.seen->examined;
    answer.notes = entry.seen->notes;
  } else if (!answer.process.note.empty()) {
    answer.notes.push_back(answer.process.note);
  } else if (!entry.ended) {
    answer.notes.emplace_back("the first check has not ended yet");
  }
  if (entry.seen && entry.looking && now - entry.began >= setting_.first_look)
    answer.notes.push_back(fmt::format("a check that began {} ago has not ended yet",
                                       format_duration(now - entry.began)));
  return answer;
}

Result<std::vector<WatchedProcess>> Watch::list() {
  TRY(list_again(kListFor));
  const std::lock_guard lock{mutex_};
  const auto now = TraceClock::now();
  for (const auto pid : shown_) refresh(*entries_.at(pid), now);
  std::erase_if(shown_, [&](pid_t pid) { return entries_.at(pid)->ended.has_value(); });
  schedule_.ask_all(shown_, now);
  changed();
  std::vector<WatchedProcess> all;
  for (const auto pid : shown_) {
    all.push_back(line_of(*entries_.at(pid), now));
    all.back().is_default = shown_.size() == 1;
  }
  std::ranges::stable_sort(all, [&](const WatchedProcess& a, const WatchedProcess& b) {
    if (a.severity != b.severity) return a.severity < b.severity;
    const auto newer = trouble_began(entries_.at(a.pid)->history);
    const auto older = trouble_began(entries_.at(b.pid)->history);
    if (newer != older) return newer > older;
    return a.cpu_percent.value.value_or(0) > b.cpu_percent.value.value_or(0);
  });
  return all;
}

Result<WatchAnswer> Watch::one(pid_t pid) {
  TRY(list_again(kAllowedFor));
  std::unique_lock lock{mutex_};
  if (!entries_.contains(pid)) {
    lock.unlock();
    TRY(list_again(nanoseconds{0}));
    lock.lock();
  }
  const auto at = entries_.find(pid);
  if (at == entries_.end())
    return fail(Errc::kNotFound, "process {} does not exist", pid)
        .hint("GET /watch lists the processes");
  const Shared entry = at->second;  // it stays while we wait, whatever becomes of the list
  refresh(*entry, TraceClock::now());
  if (!entry->ended && schedule_.ask(pid, TraceClock::now())) {
    changed();
    change_.wait_for(lock, setting_.first_look, [&] { return entry->seen || entry->ended; });
  }
  return answer_of(*entry, TraceClock::now());
}

Result<std::vector<CurrentFinding>> Watch::findings() {
  TRY(list());
  const std::lock_guard lock{mutex_};
  std::vector<CurrentFinding> all;
  for (const auto pid : shown_) {
    const auto& entry = *entries_.at(pid);
    if (entry.ended) continue;
    for (const auto& span : entry.history.current())
      all.push_back({pid, entry.process.name, entry.process.runtime, span});
  }
  return all;
}

void Watch::follow(OnChange on_change) {
  const std::lock_guard lock{mutex_};
  followers_.push_back(std::move(on_change));
  next_tick_ = {};
  changed();
}

void Watch::tell(const Entry& entry, const std::vector<FindingSpan>& changes) {
  for (const auto& span : changes) {
    const FindingChange change{
        .time = span.ended.value_or(span.began),
        .change = span.ended ? FindingChangeKind::kEnded : FindingChangeKind::kBegan,
        .pid = entry.process.pid,
        .process = entry.process.name,
        .finding = span};
    std::erase_if(followers_, [&](const OnChange& one) { return !one(&change); });
  }
}

// As if the followers asked for the list again and again.
void Watch::keep_going(std::unique_lock<std::mutex>& lock) {
  std::erase_if(followers_, [](const OnChange& one) { return !one(nullptr); });
  next_tick_ = TraceClock::now() + kListFor;
  if (followers_.empty()) return;
  lock.unlock();
  (void)list();
  lock.lock();
}

bool Watch::is_new_ask(const std::string& caller, const std::string& what) {
  const std::lock_guard lock{mutex_};
  const auto now = TraceClock::now();
  if (asks_.size() >= kMostAsks)
    std::erase_if(asks_, [&](const auto& one) { return now - one.second >= kAskedFor; });
  if (asks_.size() >= kMostAsks) return true;
  auto& last = asks_[{caller, what}];
  const bool is_new = last == TraceTime{} || now - last >= kAskedFor;
  last = now;
  return is_new;
}

// One thread looks; helper number n wakes up when n looks are late.
void Watch::work(const std::stop_token& stop, std::size_t helper) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (helper == 0 && !followers_.empty() && TraceClock::now() >= next_tick_) keep_going(lock);
    const auto now = TraceClock::now();
    auto from = helper == 0 ? std::optional{now} : schedule_.helper_needed(helper);
    if (from && *from <= now) {
      if (const auto pid = schedule_.take(now)) {
        start_helper(helper + 1);
        look_at(*pid, lock);
        continue;
      }
      schedule_.drop_unasked(now);
      forget(now);
      close_unasked(lock);
      from = schedule_.next(now);
    }
    if (helper == 0 && !followers_.empty()) from = std::min(from.value_or(next_tick_), next_tick_);
    const auto changed = [this, seen = changes_] { return changes_ != seen; };
    if (from)
      change_.wait_for(lock, stop, *from - now, changed);
    else
      change_.wait(lock, stop, changed);
  }
}

// A collection may move locks while they are read: what the first look does not find is looked for
// once more, so that the first answer is right.
Result<ops::ExaminationAnswer> Watch::look(const ops::TargetRequest& target, Entry& entry) const {
  const auto once = [&] {
    return setting_.look ? setting_.look(target, entry.bedside) : quick_look(target, entry.bedside);
  };
  auto seen = once();
  if (entry.looks == 0 && seen && seen->findings.empty()) seen = once();
  return seen;
}

void Watch::look_at(pid_t pid, std::unique_lock<std::mutex>& lock) {
  const auto at = entries_.find(pid);
  if (at == entries_.end()) return schedule_.drop(pid);
  const Shared entry = at->second;
  const auto target = setting_.reach(entry->process);
  entry->looking = entry->open = true;
  entry->began = TraceClock::now();
  const bool keep = schedule_.is_asked(pid, entry->began);
  changed();  // a helper may be needed soon
  lock.unlock();
  const auto cpu = thread_cpu();
  auto seen = look(target, *entry);
  WatchCost cost{.cpu = thread_cpu() - cpu, .took = TraceClock::now() - entry->began};
  if (seen) cost.pause = seen->pause;
  if (seen && by_worker(*seen)) cost.cpu *= 2;
  if (!keep) entry->bedside = {};  // many are listed, and each may hold a worker
  lock.lock();
  const auto now = TraceClock::now();
  entry->looking = false;
  entry->open = keep;
  schedule_.done(pid, now, cost);
  refresh(*entry, now);
  if (!entry->ended || !entry->seen) {  // of one that ended meanwhile the last whole look is kept
    entry->seen = seen ? *std::move(seen) : not_run(seen.error());
    tell(*entry, entry->history.add(*entry->seen));
    if (entry->ended) tell(*entry, entry->history.end(entry->ended_at));
    entry->looked = now;
    entry->cost = cost;
    ++entry->looks;
  }
  if (entry->process.runtime.empty() && entry->seen) entry->process.runtime = entry->seen->runtime;
  changed();
}

}  // namespace clrscope::live
