#include "collect/perf/event_set.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace clrscope::collect::perf {
namespace {

// Records lost by one event, as it counts them itself; nothing on kernels before 6.0.
std::uint64_t lost_by(const UniqueFd& fd) {
  std::uint64_t values[2] = {};  // value, lost
  return ::read(fd.get(), values, sizeof values) == sizeof values ? values[1] : 0;
}

Result<> enable_one(const UniqueFd& fd) {
  if (::ioctl(fd.get(), PERF_EVENT_IOC_ENABLE, 0) == 0) return {};
  return fail(Errc::kSystem, "cannot switch a perf event on: {}", errno_text());
}

}  // namespace

Result<> EventSet::enable_bookkeeping() {
  for (const auto& cpu : cpus_) TRY(enable_one(cpu.owner));
  running_ = true;
  return {};
}

Result<> EventSet::enable() {
  TRY(enable_bookkeeping());  // mappings first, then samples
  return enable_from(0);
}

Result<> EventSet::enable_from(std::size_t first) {
  for (auto at = first; at < opened_.size(); ++at)
    if (!disabled_.contains(opened_[at].event_at)) TRY(enable_one(opened_[at].fd));
  return {};
}

void EventSet::disable() {
  running_ = false;
  for (const auto& opened : opened_) (void)::ioctl(opened.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  for (const auto& cpu : cpus_) (void)::ioctl(cpu.owner.get(), PERF_EVENT_IOC_DISABLE, 0);
}

void EventSet::disable_event(std::size_t at) {
  disabled_.insert(at);
  for (const auto& opened : opened_)
    if (opened.event_at == at) (void)::ioctl(opened.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

Result<> EventSet::vary_period() {
  return TraceClock::now() < next_change_ ? Result<>{} : change_period();
}

// The kernel takes the new one at once and begins it anew: each time half a period is not looked
// at, on average. Threads that were born meanwhile keep the one they were born with.
Result<> EventSet::change_period() {
  constexpr std::chrono::milliseconds kOften{100};
  constexpr std::chrono::microseconds kForEach{100};  // of many: so that it costs little
  if (!periods_) return {};
  const auto period = periods_->next();
  const auto value = static_cast<std::uint64_t>(period.count());
  std::size_t changed = 0;
  for (const auto& opened : opened_) {
    if (!events_[opened.event_at].samples_cpu()) continue;
    if (::ioctl(opened.fd.get(), PERF_EVENT_IOC_PERIOD, &value) != 0)
      return fail(Errc::kSystem, "cannot change the period of samples: {}", errno_text());
    ++changed;
  }
  const auto now = TraceClock::now();
  periods_->set(now, period);
  next_change_ = now + std::max<std::chrono::nanoseconds>(kOften, kForEach * changed);
  return {};
}

// A sample says how much time it stands for.
Result<Record> EventSet::parse(Bytes bytes) const {
  auto record = TRY(parser_.parse(bytes));
  auto* sample = std::get_if<Sample>(&record);
  if (!sample || !periods_) return record;
  const auto event = static_cast<std::size_t>(sample->origin.event);
  if (event >= events_.size() || !events_[event].samples_cpu()) return record;
  // Of a thread that was born with another period the kernel says the right one.
  const auto usual = Periods::usual(events_[event].request.rate);
  if (sample->period == static_cast<std::uint64_t>(usual.count()))
    sample->period = static_cast<std::uint64_t>(periods_->at(sample->origin.time).count());
  return record;
}

Result<bool> EventSet::wait(std::chrono::milliseconds at_most, int wake_fd) {
  std::vector<pollfd> polled;
  polled.reserve(cpus_.size() + 1);
  for (const auto& cpu : cpus_) polled.push_back({cpu.owner.get(), POLLIN, 0});
  if (wake_fd >= 0) polled.push_back({wake_fd, POLLIN, 0});
  const auto ready = ::poll(polled.data(), polled.size(), static_cast<int>(at_most.count()));
  if (ready < 0 && errno != EINTR)
    return fail(Errc::kSystem, "cannot wait for perf rings: {}", errno_text());
  return ready > 0;
}

struct EventSet::Pending {
  Cpu* cpu = nullptr;
  std::uint64_t head = 0;
  Bytes bytes{};
  std::optional<Record> record{};
  TraceTime time{};

  bool operator<(const Pending& other) const { return time > other.time; }  // the oldest on top
};

// False when the ring has no more.
bool EventSet::read_next(Pending& pending) {
  for (;;) {
    pending.bytes = pending.cpu->ring.reader().next(pending.head);
    if (pending.bytes.empty()) return false;
    if (auto record = parse(pending.bytes)) {
      pending.record = *std::move(record);
      pending.time = origin_of(*pending.record).time;
      return true;
    }
    ++stats_.unreadable;
    ++stats_.records;
    ++pending.cpu->records;
    stats_.bytes += pending.bytes.size();
  }
}

void EventSet::accept(const Pending& pending, const OnRecord& on_record) {
  auto& cpu = *pending.cpu;
  const auto& record = *pending.record;
  ++cpu.records;
  ++stats_.records;
  stats_.bytes += pending.bytes.size();
  if (const auto* lost = std::get_if<Lost>(&record))
    (lost->samples_only ? stats_.hardware_lost : cpu.lost) += lost->count;
  else if (const auto* throttle = std::get_if<Throttle>(&record); throttle && throttle->begins)
    ++stats_.throttled;
  const auto verdict = doubles_.judge(origin_of(record));
  if (verdict.superfluous)
    (void)::ioctl(opened_[*verdict.superfluous].fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  if (!verdict.keep)
    ++stats_.doubled;
  else if (filter_ && filter_->undecided(record))
    undecided_.emplace_back(pending.bytes.begin(), pending.bytes.end());
  else
    hand_over(record, on_record);
}

void EventSet::hand_over(const Record& record, const OnRecord& on_record) {
  if (filter_ && !filter_->wants(record))
    ++stats_.foreign;
  else
    on_record(record);
}

// A thread may map a file on one CPU and be sampled on another a moment later: rings are merged.
std::size_t EventSet::drain(const OnRecord& on_record) {
  constexpr std::chrono::milliseconds kMoment{1};  // a record is dated before it can be seen
  const auto horizon = running_ ? TraceClock::now() - kMoment : TraceTime::max();
  const auto before = stats_.records;
  std::vector<Pending> oldest;
  for (auto& cpu : cpus_) {
    Pending pending{.cpu = &cpu, .head = cpu.ring.reader().begin()};
    if (read_next(pending)) oldest.push_back(pending);
  }
  std::make_heap(oldest.begin(), oldest.end());
  while (!oldest.empty()) {
    std::pop_heap(oldest.begin(), oldest.end());
    auto& pending = oldest.back();
    const bool due = pending.time <= horizon;
    if (due)
      accept(pending, on_record);
    else
      pending.cpu->ring.reader().put_back(pending.bytes);
    if (due && read_next(pending))
      std::push_heap(oldest.begin(), oldest.end());
    else
      oldest.pop_back();
  }
  for (auto& cpu : cpus_) cpu.ring.reader().end();
  for (const auto& bytes : undecided_)
    if (const auto record = parse(bytes)) hand_over(*record, on_record);
  undecided_.clear();
  return stats_.records - before;
}

// The ring says what it lost only when it next finds room; the events themselves know at once.
std::uint64_t EventSet::lost_on(std::size_t cpu_at) const {
  auto counted = lost_by(cpus_[cpu_at].owner);
  for (const auto& opened : opened_)
    if (opened.cpu_at == cpu_at) counted += lost_by(opened.fd);
  return std::max(counted, cpus_[cpu_at].lost);
}

SetStats EventSet::stats() const {
  auto stats = stats_;
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    const auto& cpu = cpus_[i];
    const auto lost = features_.lost_count ? lost_on(i) : cpu.lost;
    stats.cpus.push_back({cpu.number, cpu.ring.size(), cpu.records, lost});
    stats.lost += lost;
  }
  return stats;
}

}  // namespace clrscope::collect::perf
