// Counters and meters of live processes: parsed requests, values as they arrive, and the list of
// what a process publishes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "hub/counter_json.h"
#include "ops/watch.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using hub::append_json_line;
using hub::CounterKind;
using hub::CounterValue;
using hub::shown_quantiles;
using hub::shown_value;

// "System.Runtime[cpu-usage,gc-heap-size],Shop.*", "EventCounters\Shop"; several words add up.
Result<std::vector<hub::CounterRequest>> parse_counters(const std::vector<std::string>& words);
// What is shown when nobody says: all.
std::vector<hub::CounterRequest> default_counters();

struct CountersRequest {
  WatchRequest targets{};
  std::vector<hub::CounterRequest> counters{};
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};
  hub::MeterLimits limits{};
  std::optional<std::chrono::nanoseconds> duration{};
  std::span<const int> stop_fds{};
};

struct CountersWatcher {
  // From a thread of its own, one call after the other.
  std::function<void(std::span<const hub::CounterValue>)> on_values{};
  std::function<void(const hub::SourceInfo&)> on_gone{};  // a process ended
  std::function<void()> on_tick{};                        // about once a second
  std::function<void(const std::string&)> on_trouble{};   // from any thread
  std::function<void(std::size_t processes)> on_start{};
};

struct CountersSummary {
  std::uint64_t values = 0;
  std::uint64_t lost = 0;
  std::size_t processes = 0;  // that were there at the beginning or at the end
  collect::StopReason stopped_by{};
};

Result<CountersSummary> watch_counters(const CountersRequest& request,
                                       const CountersWatcher& watcher);

// Of a value as hub::append_json_line writes it.
const Shape& counter_shape();

// What a process publishes: every instrument of its meters, and the EventCounters of its
// EventSources, as far as they tell something within two seconds.
struct PublishedCounter {
  std::string provider{};
  std::string name{};
  std::string kind{};  // "Counter", "Histogram", "EventCounter" …
  std::string unit{};
  std::string description{};
};
const Shape& shape_of(const PublishedCounter*);
struct PublishedCounters {
  std::vector<PublishedCounter> counters{};  // by provider and name
  std::vector<std::string> notes{};          // what is missing, and why
};
// Only those that are wanted; no request: all.
Result<PublishedCounters> list_counters(const TargetRequest& target,
                                        const std::vector<hub::CounterRequest>& wanted = {});

// Values as dotnet-counters writes them to a file. It knows one process only: where there may be
// several, each row also says whose it is, after all else.
class CountersFile {
 public:
  enum class Format { kCsv, kJson };
  CountersFile(Format format, const WatchRequest& targets, WallTime start);
  std::string begin() const;
  std::string rows(std::span<const hub::CounterValue> values);
  std::string end() const;

 private:
  Format format_;
  std::string process_;
  bool several_;
  WallTime start_;
  bool first_ = true;
};

// "Request Duration (ms)", "requests ({request} / 1 sec)": as dotnet-counters titles it.
std::string counter_title(const hub::CounterValue& value);

}  // namespace clrscope::ops
