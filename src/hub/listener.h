// A listener: its request, its sink, and the thread that brings the one to the other.
//
// offer() does not wait, unless the request says so: what does not fit the queue is dropped,
// counted, and told to the sink. The listener sees only what it asked for; counters come at its own
// interval.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <variant>

#include "base/channel.h"
#include "base/guarded.h"
#include "hub/derived.h"
#include "hub/series_limit.h"
#include "hub/sink.h"
#include "nettrace/manifest.h"

namespace clrscope::hub {

class Listener {
 public:
  Listener(SessionRequest request, std::unique_ptr<Sink> sink, std::size_t queue_batches = 256);

  const SessionRequest& request() const { return request_; }

  // Any thread.
  void offer(Batch batch);
  void source_changed(std::shared_ptr<const SourceInfo> source, SourceChange change);
  void tell(std::string text) { inbox_.push_anyway(std::move(text)); }  // a notice
  void add_lost(std::uint64_t events) { lost_ += events; }
  SessionSummary summary() const;

  // For one that waits: from now on only for a short time.
  void stop_waiting();

  // Hands over what is queued and closes the sink; so does the end of the listener.
  void finish();

 private:
  struct Change {
    std::shared_ptr<const SourceInfo> source;
    SourceChange change;
  };
  using Item = std::variant<Batch, Change, std::string>;
  // What is known of one source's events; for counters and field filters.
  struct Knowledge {
    Knowledge(std::uint64_t of, std::uint32_t pointer_size)
        : source(of), manifests(pointer_size), plans(pointer_size, &manifests) {}
    std::uint64_t source;
    nettrace::ManifestSet manifests;
    nettrace::PayloadPlans plans;
    CounterDecoder counters{};
    std::vector<std::uint8_t> uses{};      // by type: Use; 0 when not yet looked at
    std::vector<nettrace::Known> known{};  // by type; where it is kDerived
  };
  // What events of a type are to this listener.
  enum Use : std::uint8_t {
    kLookedAt = 1,
    kManifest = 2,
    kCounter = 4,
    kEvent = 8,
    kDerived = 16,
    kTrouble = 32
  };
  std::uint8_t use_of(const EventType& type) const;

  struct Derived {
    SourceInfo source;
    DerivedMetrics metrics;
  };

  void run(const std::stop_token& stop);
  bool admits(const CounterValue& value);
  void give(std::vector<CounterValue> values);
  void take_derived();
  void take(Batch& batch);
  void take(const Change& change);
  void note(const Result<>& done);
  void notice(std::string text);

  SessionRequest request_;
  std::unique_ptr<Sink> sink_;  // but for its state touched by worker_ only, as the next three
  std::map<std::uint64_t, Knowledge> knowledge_;  // by reader
  CounterAggregate aggregate_;
  SeriesLimit series_;
  bool told_left_out_ = false;
  std::map<std::uint64_t, Derived> derived_;  // by source
  bool wants_derived_;
  TraceTime derived_taken_ = TraceClock::now();
  std::uint64_t told_dropped_ = 0;
  Channel<Item> inbox_;
  std::atomic<std::uint64_t> events_{0}, counters_{0}, dropped_{0}, lost_{0}, left_out_{0},
      failures_{0};
  std::atomic<std::chrono::nanoseconds::rep> lag_{0};
  std::atomic<TraceTime> waits_until_;
  Guarded<std::string> last_failure_;
  Guarded<std::vector<std::string>> notices_;
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::hub
