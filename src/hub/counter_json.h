// A counter's value as one line of JSON, as `counters --json`, the NDJSON sink and REST have it.
//
//   {"time":"…","pid":4312,"provider":"System.Runtime","name":"dotnet.gc.collections",
//    "tags":{"gc.heap.generation":"gen0"},"value":3,"unit":"{collection}","kind":"rate",…}
#pragma once

#include <string>

#include "base/shape.h"
#include "hub/counter.h"

namespace clrscope::hub {

// Texts are borrowed from the value.
struct CounterLine {
  WallTime time{};
  pid_t pid = 0;
  std::string_view process{};
  std::string_view provider{};
  std::string_view name{};
  std::vector<std::pair<std::string, std::string>> tags{};
  double value = 0;
  std::string_view unit{};
  CounterKind kind{};
  std::optional<std::string_view> display{};
  std::optional<double> total{};
  std::optional<std::uint64_t> count{};
  std::optional<double> sum{}, min{}, max{};
  std::optional<std::vector<std::pair<std::string, double>>> quantiles{};
  std::optional<std::vector<std::pair<std::string, std::uint64_t>>> buckets{};
  std::chrono::nanoseconds interval{};
};
const Shape& shape_of(const CounterLine*);
CounterLine line_of(const CounterValue& value);

// An object; its members alone.
void write_json(JsonWriter& json, const CounterValue& value);
void write_members(JsonWriter& json, const CounterValue& value);
// With its line end.
void append_json_line(std::string& out, const CounterValue& value);

}  // namespace clrscope::hub
