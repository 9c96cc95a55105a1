// Opens what an EventSet consists of, and copes with what the kernel does not grant.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/perf/event_set.h"
#include "collect/perf/rights.h"

namespace clrscope::collect::perf {
namespace {

constexpr int kMostListings = 8;  // of threads; a thread born later has inherited its events

// "0-3,8" of /sys/devices/system/cpu/online
Result<std::vector<int>> online_cpus() {
  const auto text = TRY(read_file("/sys/devices/system/cpu/online"));
  std::vector<int> cpus;
  for (const auto range : split(trim(text), ',')) {
    const auto dash = range.find('-');
    const auto first = parse_number(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
    if (!first || !last || *last > 65535 || *first > *last)
      return fail(Errc::kCorrupt, "cannot read the list of CPUs: {}", trim(text));
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

}  // namespace

class EventOpener {
 public:
  static Result<EventSet> open(const SessionRequest& request, Scope scope) {
    EventSet set;
    set.scope_ = scope;
    set.features_.kernel_part = request.kernel;
    EventOpener opener{request, set};
    TRY(opener.open());
    return set;
  }

  EventOpener(const SessionRequest& request, EventSet& set) : request_(request), set_(set) {}

  // Lists again until no thread is new: those born meanwhile of a thread that had no events yet
  // would be missed.
  Result<> open_for_threads() {
    std::unordered_set<pid_t> seen;
    std::size_t alive = 0;
    for (int listing = kFirstListing; listing < kMostListings; ++listing) {
      std::size_t found = 0;
      for (const auto process : request_.processes) {
        for (const auto thread : threads_of(process)) {
          if (!seen.insert(thread).second) continue;
          ++found;
          if (TRY(open_for(thread, listing))) ++alive;
        }
      }
      if (found == 0) break;
    }
    if (alive == 0) return fail(refusal(ESRCH, Asked::kProcess, request_.processes.front()));
    return {};
  }

 private:
  Result<> open() {
    raise_fd_limit();
    TRY(resolve_events());
    TRY(open_rings());
    if (per_cpu())
      TRY(open_for(-1, kFirstListing));
    else
      TRY(open_for_threads());
    TRY(set_.change_period());  // before threads are born that would inherit the usual one
    if (set_.scope_ == Scope::kFiltered) set_.filter_.emplace(request_.processes);
    return {};
  }

  static constexpr int kFirstListing = 0;

  bool per_cpu() const { return set_.scope_ != Scope::kThreads; }
  Asked asked(const ResolvedEvent& event) const {
    if (event.format) return Asked::kTracepoint;
    return per_cpu() ? Asked::kMachine : Asked::kProcess;
  }

  Result<> resolve_events() {
    for (const auto& event_request : request_.events) {
      set_.events_.push_back(TRY(resolve(event_request)));
      if (!event_request.each_time()) set_.periods_.emplace(event_request.rate);
    }
    // Threads have no event of their own for bookkeeping unless nothing else is asked for.
    if (!per_cpu() && set_.events_.empty()) set_.events_.push_back(bookkeeping_event());
    return {};
  }

  // One event; lessens what is asked for until the kernel takes it. Nothing when errno says why.
  UniqueFd try_open(const ResolvedEvent& event, Bookkeeping keeping, pid_t pid, int cpu) {
    auto& features = set_.features_;
    for (;;) {
      auto attr = make_attr(event, features, keeping);
      attr.inherit = pid > 0 && !per_cpu();
      if (auto fd = open_event(attr, pid, cpu)) return fd;
      if (errno == EINVAL && std::exchange(features.lost_count, false)) continue;
      if (errno == EINVAL && std::exchange(features.build_id, false)) continue;
      const bool denied = errno == EACCES || errno == EPERM;
      if (denied && !event.format && std::exchange(features.kernel_part, false)) continue;
      return {};
    }
  }

  // Machine-wide the owner of a ring keeps the books. Else it is a silent event on ourselves: a
  // ring whose owner has exited can no longer be waited for.
  Result<> open_rings() {
    auto ring_bytes = ring_bytes_for(request_);
    for (const auto cpu : TRY(online_cpus())) {
      for (;;) {
        auto owner = TRY(open_owner(cpu, ring_bytes));
        if (!owner) break;  // the CPU went offline
        auto ring = TRY(Ring::map(owner.get(), ring_bytes));
        if (ring.size() < ring_bytes) {  // the mark for waking us must fit the ring
          ring_bytes = ring.size();
          continue;
        }
        set_.cpus_.push_back({cpu, std::move(owner), std::move(ring)});
        break;
      }
    }
    if (per_cpu())
      for (auto& cpu : set_.cpus_)
        TRY(know(cpu.owner, EventIndex{static_cast<std::uint32_t>(request_.events.size())},
                 bookkeeping_event().layout));
    return {};
  }

  Result<UniqueFd> open_owner(int cpu, std::size_t ring_bytes) {
    const auto event = bookkeeping_event();
    auto& features = set_.features_;
    for (;;) {
      auto attr = make_attr(event, features, per_cpu() ? Bookkeeping::kTasks : Bookkeeping::kNone);
      attr.watermark = 1;
      attr.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 4);
      auto fd = open_event(attr, per_cpu() ? -1 : ::getpid(), cpu);
      if (fd || errno == ENODEV) return fd;
      if (errno == EINVAL && std::exchange(features.lost_count, false)) continue;
      if (errno == EINVAL && std::exchange(features.build_id, false)) continue;
      return fail(refusal(errno, per_cpu() ? Asked::kMachine : Asked::kProcess, ::getpid()));
    }
  }

  Result<EventId> know(const UniqueFd& fd, EventIndex index, const RecordLayout& layout) {
    std::uint64_t id = 0;
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) != 0)
      return fail(Errc::kSystem, "cannot get the id of a perf event: {}", errno_text());
    set_.parser_.add(EventId{id}, index, layout);
    return EventId{id};
  }

  // All events of one thread (or of everybody) on all CPUs. A thread that is gone is no error.
  Result<bool> open_for(pid_t pid, int listing) {
    for (std::size_t e = 0; e < set_.events_.size(); ++e) {
      const auto keeping = !per_cpu() && e == 0 ? Bookkeeping::kTasks : Bookkeeping::kNone;
      for (std::size_t c = 0; c < set_.cpus_.size(); ++c) {
        auto fd = try_open(set_.events_[e], keeping, pid, set_.cpus_[c].number);
        if (!fd && errno == ESRCH) return false;
        if (!fd) return fail(refusal(errno, asked(set_.events_[e]), pid));
        TRY(join(std::move(fd), e, c, pid, listing));
      }
    }
    return true;
  }

  Result<> join(UniqueFd fd, std::size_t event_at, std::size_t cpu_at, pid_t pid, int listing) {
    const auto& event = set_.events_[event_at];
    const auto& cpu = set_.cpus_[cpu_at];
    if (::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, cpu.owner.get()) != 0)
      return fail(Errc::kSystem, "cannot share a perf ring: {}", errno_text());
    if (!event.request.filter.empty() &&
        ::ioctl(fd.get(), PERF_EVENT_IOC_SET_FILTER, event.request.filter.c_str()) != 0)
      return fail(Errc::kUsage, "the kernel rejects the filter '{}' for {}: {}",
                  event.request.filter, event.name, errno_text())
          .hint("write it with the fields of the tracepoint, such as prev_pid == 12");
    const EventIndex index{static_cast<std::uint32_t>(event_at)};
    const auto id = TRY(know(fd, index, event.layout));
    if (listing > kFirstListing)
      set_.doubles_.suspect(index, ThreadId{static_cast<std::uint64_t>(pid)},
                            static_cast<std::uint32_t>(cpu.number), id, set_.opened_.size());
    set_.opened_.push_back({std::move(fd), cpu_at, event_at});
    return {};
  }

  const SessionRequest& request_;
  EventSet& set_;
};

Result<EventSet> EventSet::open(const SessionRequest& request) {
  if (request.scope != Scope::kMachine && request.processes.empty())
    return fail(Errc::kUsage, "no process to record");
  for (const auto process : request.processes)
    if (!process_exists(process)) return fail(refusal(ESRCH, Asked::kProcess, process));
  if (request.scope != Scope::kBestFor) return EventOpener::open(request, request.scope);
  auto filtered = EventOpener::open(request, Scope::kFiltered);
  if (filtered || filtered.error().code != Errc::kDenied) return filtered;
  return EventOpener::open(request, Scope::kThreads);
}

Result<> EventSet::add_process(pid_t process) {
  const SessionRequest request{.scope = Scope::kThreads, .processes = {process}};
  const auto before = opened_.size();
  EventOpener opener{request, *this};
  TRY(opener.open_for_threads());
  TRY(change_period());  // theirs must be the one that all have
  return running_ ? enable_from(before) : Result<>{};
}

}  // namespace clrscope::collect::perf
