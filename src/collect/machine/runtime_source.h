// The events of one session of a .NET process on their way into a recording: verbatim, with their
// losses. Those that nobody asked for by name are weighed; counters are not written but handed on.
//
// Belongs to the thread of its Writer: poll fd(), then read().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/eventpipe/session_end.h"
#include "collect/eventpipe/stopping_event.h"
#include "collect/eventpipe/wanted_methods.h"
#include "collect/machine/budget.h"
#include "collect/machine/guardian.h"
#include "collect/machine/runtime_finder.h"
#include "hub/counter.h"
#include "ipc/commands.h"
#include "nettrace/payload.h"
#include "nettrace/reader.h"
#include "nettrace/writer.h"

namespace clrscope::collect {

class RuntimeSource {
 public:
  // Events carry the pid as we see it, whatever the runtime calls itself in its container.
  RuntimeSource(OpenedRuntime opened, nettrace::Writer& writer);

  int fd() const { return session_.stream.get(); }
  // What is there, through `buffer`, and how much it was; fails when the writer does.
  Result<std::size_t> read(std::span<std::uint8_t> buffer);
  // Its first names are on their way, and the runtime waits for the reader.
  bool sends_names() const { return early_ && early_->open(); }
  // It has ended: gives back the memory that reading took.
  void release();
  // Its end did not come: the names that it had at the start. False when they did not come either.
  Result<bool> add_early_names();
  // Samples have hit these addresses: the names of the methods there are wanted before the end.
  void want_names(std::span<const std::uint64_t> addresses);
  // Looks for them among the names that it had at the start, for so long; the rest another time.
  Result<> write_wanted_names(TraceTime until);
  void stop() { end_.ask(); }
  bool ended();  // whole, broken off, or given up

  // Its events up to then have come; nothing when it says nothing and is not waited for.
  std::optional<TraceTime> watermark(TraceTime now, std::chrono::nanoseconds patience) const;
  // An event of this kind is watched for.
  void stop_at(const StoppingEventRequest& request) { stopping_.emplace(request); }
  bool stop_found() const { return stop_found_; }

  // What its events have cost the program is more than they are worth.
  bool too_dear(TraceTime now);  // once
  bool was_too_dear() const { return too_dear_; }
  // So many of its events a second, lately.
  std::uint64_t per_second() const;
  const std::string& what() const { return what_; }

  // One of the runtime's own counters has grown.
  struct Growth {
    TraceTime time{};
    std::string counter{};
    std::uint64_t by = 0;
  };
  std::vector<Growth> take_growth() { return std::exchange(growth_, {}); }

  bool has_counts() const { return role_ == OpenedRuntime::Role::kCounts; }
  bool has_names() const { return role_ == OpenedRuntime::Role::kNames; }
  ProcessId process() const { return process_; }
  std::uint64_t samples() const { return samples_; }  // by its own sampler
  std::uint64_t lost() const { return summary().lost; }
  bool whole() const { return summary().ended; }
  // What was read of its stream, and what of it could not be.
  const nettrace::Summary& summary() const { return reader_ ? reader_->summary() : released_; }
  std::span<const nettrace::Damage> damage() const { return reader_ ? reader_->damage() : damage_; }
  GuardedSession guarded() const {
    return {static_cast<pid_t>(process_), runtime_->name(), session_.id};
  }

 private:
  void on_batch(const nettrace::Batch& batch);
  void count(const nettrace::Batch& batch);
  void weigh(const nettrace::Batch& batch);
  void write(nettrace::SourceId source, const nettrace::Reader& reader,
             const nettrace::Batch& batch);

  // A pass through the early names.
  struct Pass {
    nettrace::Reader reader{};
    off_t at = 0;
  };
  void write_early(std::span<const NameEvent> names);

  ProcessId process_;
  OpenedRuntime::Role role_;
  std::string what_;
  std::optional<Budget> budget_;  // nanoseconds of the program's time, all threads
  std::optional<Budget> events_;  // the same events, for their rate
  std::uint64_t cost_ = 0, weighed_ = 0;
  bool too_dear_ = false;
  hub::CounterDecoder counters_;
  std::optional<nettrace::PayloadPlans> plans_;
  std::vector<Growth> growth_;
  std::unique_ptr<ipc::Endpoint> runtime_;
  ipc::Session session_;
  EventFilter filter_;
  nettrace::Writer& writer_;
  nettrace::SourceId source_;
  std::optional<nettrace::Reader> reader_;  // until release()
  nettrace::Summary released_;
  std::vector<nettrace::Damage> damage_;
  std::optional<Error> error_;
  std::uint64_t samples_ = 0;
  std::optional<StoppingEvent> stopping_;
  bool stop_found_ = false;
  TraceTime newest_{};  // of its events
  bool closed_ = false;
  std::unique_ptr<EarlyRundown> early_;  // may be empty
  std::vector<std::uint64_t> wanted_;    // addresses whose methods have no names yet
  std::unique_ptr<Pass> pass_;           // that goes on
  std::optional<nettrace::SourceId> early_source_;
  WantedMethods early_methods_;
  TraceTime early_newest_{};  // of them: a second pass must not go back in time
  SessionEnd end_;            // last: its thread ends before what it uses goes
};

}  // namespace clrscope::collect
