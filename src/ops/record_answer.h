// A finished recording as `collect --json` shows it.
#pragma once

#include "base/shape.h"
#include "ops/record.h"

namespace clrscope::ops {

struct CountAnswer {
  std::string name{};
  std::uint64_t value = 0;
  double counted_percent = 100;
};
const Shape& shape_of(const CountAnswer*);

struct RecordCost {
  std::uint64_t cpu_ms = 0;
  std::uint64_t rss_bytes = 0;
  std::optional<double> program_cpus_before{};
  std::optional<double> program_cpus_during{};
};
const Shape& shape_of(const RecordCost*);

struct RecordAnswer {
  std::string file{};
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  std::chrono::nanoseconds duration{};
  std::uint64_t events = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::uint64_t bytes = 0;
  std::uint64_t broken_stacks = 0;
  RecordEnding ending{};
  std::uint64_t late = 0;
  std::optional<std::uint64_t> waits{};
  std::optional<std::uint64_t> perf_events{};
  std::optional<std::vector<std::pair<std::string, std::uint64_t>>> broken_by_reason{};
  std::optional<std::string> rewritten{};
  std::vector<std::string> notes{};
  std::optional<std::vector<CountAnswer>> counts{};
  std::optional<std::string> no_hardware_counters{};
  RecordCost cost{};
};
const Shape& shape_of(const RecordAnswer*);
RecordAnswer answer_of(const RecordSummary& summary);

}  // namespace clrscope::ops
