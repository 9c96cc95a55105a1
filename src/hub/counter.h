// A counter's value as its program published it, whichever way: EventCounters or Meters.
//
// CounterDecoder knows the events of both. What a value means depends on the kind; nothing is
// computed that the program did not publish. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "hub/request.h"
#include "nettrace/payload.h"

namespace clrscope::hub {

enum class CounterKind : std::uint8_t {
  kRate,       // value: how much it grew in the interval; total: since its beginning, if known
  kGauge,      // value: as it is now
  kUpDown,     // value: as it is now; told as changes
  kMean,       // value: the mean of what was recorded in the interval; count, min, max
  kHistogram,  // buckets or quantiles of what was recorded in the interval; count, sum; value: the
               // median
};
std::span<const std::string_view> names_of(CounterKind);
std::string_view name_of(CounterKind kind);  // "rate", "gauge", …

// So many recordings above the bound of the bucket before and not above this one's.
struct Bucket {
  double upper = 0;  // of the last: infinity
  std::uint64_t count = 0;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

struct CounterValue {
  WallTime time{};
  pid_t pid = 0;
  std::string process{};
  std::string provider{};  // of EventCounters, or the meter
  std::string name{};
  std::string display{};  // what people call it; the name of a Meter's instrument
  std::string unit{};
  std::vector<std::pair<std::string, std::string>> tags{};
  CounterKind kind = CounterKind::kGauge;
  bool meter = false;
  double value = 0;
  std::optional<double> total{};
  std::uint64_t count = 0;
  std::optional<double> sum{}, min{}, max{};
  std::vector<std::pair<double, double>>
      quantiles{};                      // share, value; where the program tells these
  std::vector<Bucket> buckets{};        // where each recording was seen; or neither
  std::chrono::nanoseconds interval{};  // that it is about

  // "route=/a,status=200"
  std::string tags_text() const;
};

// What people are shown of it: a rate per second, else the value.
double shown_value(const CounterValue& value);

// One for each source: it remembers how often that source collects.
class CounterDecoder {
 public:
  // Nothing when the event is no counter's, or says less than it should.
  std::optional<CounterValue> decode(const Event& event, const nettrace::PayloadPlan& plan);

 private:
  std::optional<CounterValue> event_counter(const Event& event, const nettrace::PayloadPlan& plan);
  std::optional<CounterValue> instrument(const Event& event, const nettrace::PayloadPlan& plan);
  std::chrono::nanoseconds interval_{std::chrono::seconds{1}};  // of instruments
  TraceTime collected_{};                                       // when they were last collected
};

// The share's value, straight between the bounds of its bucket; nothing without recordings.
std::optional<double> quantile_of(const std::vector<Bucket>& buckets, double share);

// What people are shown of a histogram: the quantiles that the program tells, else those of its
// buckets at 0.5, 0.95 and 0.99; none without recordings.
std::vector<std::pair<double, double>> shown_quantiles(const CounterValue& value);

// Whether a listener asked for this counter.
bool wanted(const std::vector<CounterRequest>& requests, const CounterValue& value);

// "a=1,b=2"
std::vector<std::pair<std::string, std::string>> parse_tags(std::string_view text);

// Why the runtime tells less of its meters than it was asked for, or something else than that;
// nothing when the event is about nothing of the kind.
bool may_be_meters_trouble(const EventType& type);
std::optional<std::string> meters_trouble(const Event& event, const nettrace::PayloadPlan& plan,
                                          const MeterLimits& limits);

// Puts values of short intervals together to the longer one that a listener asked for: increments
// and buckets are added, means weighed by their counts, gauges are the last. Quantiles cannot be
// added: those of the interval with most recordings stand for all.
class CounterAggregate {
 public:
  explicit CounterAggregate(std::chrono::nanoseconds interval) : interval_(interval) {}
  // The values that are complete with this one.
  std::vector<CounterValue> add(CounterValue value);

 private:
  std::chrono::nanoseconds interval_;
  std::unordered_map<std::string, CounterValue> open_;  // by identity
};

}  // namespace clrscope::hub
