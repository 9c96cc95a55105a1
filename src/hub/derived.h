// Metrics made of the runtime's raw events, of the provider "Clrscope.Runtime": what no counter of
// the program tells, such as a histogram of pauses with real buckets and exceptions by type.
//
// Names are OpenTelemetry's where it has the thing. Exact, as every event is seen; what the runtime
// lost is missing, and counted elsewhere. One for each process; belongs to one thread.
// The list for readers: docs/monitoring.md
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hub/counter.h"
#include "hub/request.h"
#include "model/provider_names.h"
#include "nettrace/payload_events.h"

namespace clrscope::hub {

// Which events these metrics need. No names: all but those that cost two events for each piece of
// the pool's work, which must be named.
std::vector<ProviderRequest> providers_for_derived(const std::vector<std::string>& names);
// Whether one of them may be needed.
bool may_be_derived_from(std::string_view provider);

class DerivedMetrics {
 public:
  explicit DerivedMetrics(std::uint32_t pointer_size) : pointer_size_(pointer_size) {}

  void on_event(const Event& event, nettrace::Known known);
  // What happened since it was asked last, in `interval`; `time`, `pid` and `process` are to be
  // set. Everything that was ever seen, also when it was 0 this time.
  std::vector<CounterValue> take(std::chrono::nanoseconds interval);

 private:
  struct Sum {
    double now = 0, total = 0;
  };
  struct Histogram {
    std::vector<std::uint64_t> counts{};  // by bucket, since it was asked last; none: never used
    double sum = 0;
    void add(double seconds);
    CounterValue take(std::string_view metric, std::chrono::nanoseconds interval);
  };
  using Key = std::pair<std::string_view, std::string>;  // metric, value of its tag

  void add(std::string_view metric, double amount, std::string tag = {});
  void on_gc(const Event& event, nettrace::Known known);
  void on_contention(const Event& event, nettrace::Known known);
  void on_jit(const Event& event, nettrace::Known known);
  void on_pool_work(const Event& event, nettrace::Known known);

  std::uint32_t pointer_size_;
  std::map<Key, Sum> sums_;
  Histogram pauses_;
  TraceTime suspended_{};
  std::unordered_map<std::uint64_t, TraceTime> jitting_;  // by thread
  std::unordered_map<std::uint64_t, TraceTime> waiting_;  // for a lock, by thread
  std::uint32_t pool_threads_ = 0;
  bool pool_seen_ = false;
  std::unordered_map<std::uint64_t, TraceTime> queued_;  // for the pool, by work
  Histogram queue_waits_;
  bool queue_seen_ = false;
};

}  // namespace clrscope::hub
