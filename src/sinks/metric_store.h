// The last state of every counter of every process, summed up from its beginning: what a scraper
// reads, and what is sent to a collector. For the prometheus and otlp sinks.
//
// Events carry increments; a store keeps totals. A process that ended stays for a while, so that a
// scraper that comes seldom sees its last word. The number of series is limited: what finds no
// place is counted. Belongs to one thread, or stands behind a lock.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hub/otel_names.h"
#include "hub/sink.h"

namespace clrscope::sinks {

enum class MetricKind : std::uint8_t { kCounter, kUpDown, kGauge, kHistogram, kSummary };

using Labels = std::vector<std::pair<std::string, std::string>>;

struct MetricSeries {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};  // "10.0.12"; empty: not told
  Labels tags{};          // as the program and the conventions have them
  double value = 0;       // of a counter: its total
  std::uint64_t count = 0;
  std::optional<double> sum{}, min{}, max{};           // min and max: of the last interval
  std::vector<std::pair<double, double>> quantiles{};  // share, value; of the last interval
  std::map<double, std::uint64_t> buckets{};           // by upper bound, each on its own
  WallTime start{};                                    // what is summed up begins here
  WallTime time{};                                     // of the last value
  std::uint64_t revision = 0;                          // of the store, when it came
};

struct MetricFamily {
  std::string provider{};  // meter, or EventSource
  std::string name{};      // OpenTelemetry's, or the program's own
  std::string unit{};
  std::string help{};
  MetricKind kind = MetricKind::kGauge;
  std::map<std::string, MetricSeries> series{};  // by pid and tags
};

enum class MetricNames : std::uint8_t {
  kOtel,           // OpenTelemetry's conventions
  kDotnetMonitor,  // as the program has them: rates stay rates, gauges all of them
};

class MetricStore {
 public:
  struct Setting {
    MetricNames names = MetricNames::kOtel;
    std::size_t limit = 10'000;                              // series
    std::chrono::nanoseconds keep{std::chrono::minutes{1}};  // of a process that is gone
  };

  explicit MetricStore(Setting setting) : setting_(setting) {}

  void came(const hub::SourceInfo& source);
  void gone(const hub::SourceInfo& source, TraceTime now);
  void add(std::span<const hub::CounterValue> values);
  void expire(TraceTime now);

  const std::map<std::string, MetricFamily>& families() const { return families_; }
  std::size_t processes() const { return processes_.size(); }
  std::size_t series() const { return series_; }
  std::size_t limit() const { return setting_.limit; }
  std::uint64_t revision() const { return revision_; }  // grows with each value
  std::uint64_t refused() const { return refused_; }    // values that found no place

 private:
  struct Process {
    std::string runtime{};
    std::optional<TraceTime> gone{};
  };

  void add(const hub::CounterValue& value);
  void forget(pid_t pid);

  const Setting setting_;
  std::map<std::string, MetricFamily> families_;  // by provider, name, kind
  std::map<pid_t, Process> processes_;
  std::size_t series_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace clrscope::sinks
