// Live data as JSON and text, in one place for REST and other callers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/shape.h"
#include "hub/counter_json.h"
#include "live/live.h"

namespace clrscope::live {

using hub::CounterLine;

// The last value of a series, and its history where asked.
struct CounterSeriesJson {
  CounterLine last{};
  std::optional<std::vector<CounterPoint>> points{};
};
const Shape& shape_of(const CounterPoint*);
const Shape& shape_of(const CounterSeriesJson*);
struct CountersJson {
  LiveSource source{};
  std::chrono::nanoseconds interval{};
  std::vector<std::string> notes{};
  std::vector<CounterSeriesJson> counters{};
};
const Shape& shape_of(const CountersJson*);
// With the points of each series where asked.
std::string counters_json(const CountersAnswer& answer, bool points);
std::string counters_text(const CountersAnswer& answer);
// Those that are chosen, as an array; empty: there are none.
std::string counters_array(const std::vector<hub::CounterValue>& values,
                           const CounterHistory::Choice& choice);
// One value a line, as `counters --json` has it.
std::string counter_lines(const std::vector<hub::CounterValue>& values,
                          const CounterHistory::Choice& choice);
// As dotnet-monitor's /livemetrics has it.
struct LiveMetric {
  WallTime time{};
  std::string provider{}, name{}, display{}, unit{};
  std::string type{};  // "Rate" or "Metric"
  std::string tags{};
  double value = 0;
  std::vector<std::pair<std::string, std::string>> metadata{};
};
const Shape& shape_of(const LiveMetric*);
LiveMetric live_metric(const hub::CounterValue& value);

std::string view_json(const ViewAnswer& answer);
// What it writes of a topic: `name` is the shape's.
Shape view_shape(Topic topic, std::string_view name);
std::string view_text(const ViewAnswer& answer);

// As dotnet-monitor's /exceptions has it.
struct ExceptionActivity {
  std::string id{}, format = "Unknown";
};
const Shape& shape_of(const ExceptionActivity*);
struct ExceptionFrame {
  std::string method{};
  std::vector<std::string> parameters{};
  std::string type{}, module{};
};
const Shape& shape_of(const ExceptionFrame*);
struct ExceptionStack {
  ThreadId thread{};
  std::optional<std::string> thread_name{};  // the runtime's event does not tell
  std::vector<ExceptionFrame> frames{};
};
const Shape& shape_of(const ExceptionStack*);
struct ExceptionAnswer {
  std::uint64_t id = 0;
  WallTime time{};
  std::string type{};
  std::optional<std::string> module{};  // the runtime's event does not tell
  std::string message{};
  std::optional<ExceptionActivity> activity{};
  std::vector<RawJson> inner{};  // likewise
  ExceptionStack stack{};
  std::string hresult{};
};
const Shape& shape_of(const ExceptionAnswer*);
ExceptionAnswer answer_of(const NamedException& exception);
// A paragraph.
std::string exception_text(const NamedException& exception);

struct LiveFeedStatus {
  std::string feed{};
  std::uint64_t followers = 0, told = 0, dropped = 0, left_out = 0;
};
const Shape& shape_of(const LiveFeedStatus*);
struct LiveProcessStatus {
  pid_t pid = 0;
  std::string process{};
  bool live = true;
  std::string ended{};
  std::uint64_t sessions = 0, events = 0, lost = 0;
  std::vector<LiveFeedStatus> feeds{};
};
const Shape& shape_of(const LiveProcessStatus*);
struct LiveStatus {
  std::vector<LiveProcessStatus> processes{};
};
const Shape& shape_of(const LiveStatus*);
LiveStatus answer_of(const std::vector<Live::Status>& statuses);

}  // namespace clrscope::live
