// The perf events of one recording, opened, with a ring per CPU.
//
// Belongs to one thread. Closing it is all the cleaning up there is: nothing outlives the
// descriptors. Records come in the order of their times, whatever CPU they are of.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/perf/doubles.h"
#include "collect/perf/perf_attr.h"
#include "collect/perf/periods.h"
#include "collect/perf/process_filter.h"
#include "collect/perf/record.h"
#include "collect/perf/ring.h"

namespace clrscope::collect::perf {

struct CpuStats {
  int cpu = 0;
  std::size_t ring_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;  // records that the ring had no room for
};

struct SetStats {
  std::vector<CpuStats> cpus{};
  std::uint64_t records = 0;     // read, before anything is dropped
  std::uint64_t bytes = 0;       // of them
  std::uint64_t unreadable = 0;  // records that broke their own format
  std::uint64_t doubled = 0;     // dropped: came twice
  std::uint64_t foreign = 0;     // dropped: other processes', in kFiltered
  std::uint64_t lost = 0;        // in rings
  std::uint64_t hardware_lost = 0;
  std::uint64_t throttled = 0;  // times that the kernel paused an event
};

class EventSet {
 public:
  // Opened, not yet running.
  static Result<EventSet> open(const SessionRequest& request);

  EventSet(EventSet&&) noexcept = default;
  EventSet& operator=(EventSet&&) = delete;

  // Mappings, tasks and names alone: so that what is there already can be looked at, without haste,
  // before there are samples of it.
  Result<> enable_bookkeeping();
  Result<> enable();                   // all of it
  void disable();                      // what is in the rings stays there to be drained
  void disable_event(std::size_t at);  // one of events(), for good
  // Records this one too, from now on. Only where the scope is kThreads.
  Result<> add_process(pid_t process);

  // Gives CPU samples another period where the last one is old enough; to be called often.
  Result<> vary_period();

  // True when a ring is a quarter full or wake_fd is readable, false after the time.
  Result<bool> wait(std::chrono::milliseconds at_most, int wake_fd = -1);

  using OnRecord = std::function<void(const Record&)>;
  // All that is there now, but for the last moment: what another CPU writes about it may not be
  // seen yet. After disable() all of it. Returns how many records were read.
  std::size_t drain(const OnRecord& on_record);

  // In the order of the request; a record's EventIndex says which it belongs to.
  std::span<const ResolvedEvent> events() const { return events_; }
  Scope scope() const { return scope_; }
  bool kernel_included() const { return features_.kernel_part; }
  std::size_t descriptors() const { return opened_.size() + cpus_.size(); }
  SetStats stats() const;

 private:
  friend class EventOpener;
  EventSet() = default;

  struct Cpu {
    int number = 0;
    UniqueFd owner;  // whose ring all events of this CPU write to
    Ring ring;
    std::uint64_t records = 0;
    std::uint64_t lost = 0;
  };
  struct Opened {
    UniqueFd fd;
    std::size_t cpu_at = 0;    // in cpus_
    std::size_t event_at = 0;  // in events_
  };

  struct Pending;  // the next record of a ring
  Result<> change_period();
  Result<> enable_from(std::size_t first);  // of opened_
  Result<Record> parse(Bytes bytes) const;
  bool read_next(Pending& pending);
  void accept(const Pending& pending, const OnRecord& on_record);
  void hand_over(const Record& record, const OnRecord& on_record);
  std::uint64_t lost_on(std::size_t cpu_at) const;

  std::vector<ResolvedEvent> events_;
  Features features_;
  Scope scope_ = Scope::kMachine;
  bool running_ = false;
  RecordParser parser_;
  std::optional<Periods> periods_;  // where there are CPU samples
  TraceTime next_change_{};         // of the period
  std::vector<Cpu> cpus_;
  std::vector<Opened> opened_;
  std::set<std::size_t> disabled_;  // of events_, for good
  Doubles doubles_;
  std::optional<ProcessFilter> filter_;
  std::vector<std::vector<std::uint8_t>> undecided_;  // records kept until all rings are read
  SetStats stats_;
};

}  // namespace clrscope::collect::perf
