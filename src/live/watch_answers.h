// What the watch tells of processes: one line each for the list, and all of one of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/shape.h"
#include "live/finding_history.h"
#include "model/process.h"
#include "ops/examine.h"

namespace clrscope::live {

// How bad the worst finding is. The worst first, as lists are sorted.
enum class WatchSeverity : std::uint8_t { kError, kWarning, kInfo, kUnknown, kNone };
std::span<const std::string_view> names_of(WatchSeverity);

struct WatchedProcess {
  pid_t pid = 0;
  std::string name{}, command_line{}, user{}, runtime{}, container{};
  std::chrono::milliseconds up{};
  OrNull<double> cpu_percent{};
  std::optional<std::uint64_t> rss_bytes{}, memory_limit_bytes{}, threads{};
  OrNull<double> requests_per_second{};
  std::string requests_unknown{};
  bool reachable = true;
  std::string reason{}, hint{};
  std::optional<bool> is_default{};  // in lists
  WatchSeverity severity = WatchSeverity::kUnknown;
  std::string verdict{};
  std::size_t findings = 0;
  std::optional<WallTime> checked_at{};
  std::optional<std::chrono::milliseconds> checked_ago{};
  std::string note{};
};
const Shape& shape_of(const WatchedProcess*);
WatchedProcess watched_process(const Process& process);

// What one look cost.
struct WatchCost {
  std::chrono::nanoseconds cpu{};    // of ours
  std::chrono::nanoseconds took{};   // from begin to end
  std::chrono::nanoseconds pause{};  // of the process
};
const Shape& shape_of(const WatchCost*);

struct WatchAnswer {
  WatchedProcess process{};
  std::optional<WallTime> checked_at{};
  std::optional<std::chrono::milliseconds> checked_ago{};
  std::chrono::milliseconds every{};
  std::size_t looks = 0;
  std::string ended{};
  std::optional<WallTime> ended_at{};
  std::vector<ops::FoundAnswer> findings{};
  std::vector<FindingSpan> history{};
  std::vector<ops::ExaminedAnswer> examined{};
  std::vector<std::string> notes{};
  WatchCost cost{};
};
const Shape& shape_of(const WatchAnswer*);

// A finding that exists now, of one process.
struct CurrentFinding {
  pid_t pid = 0;
  std::string process{}, runtime{};
  FindingSpan finding{};
};

// A finding has begun or ended.
enum class FindingChangeKind : std::uint8_t { kBegan, kEnded };
std::span<const std::string_view> names_of(FindingChangeKind);
struct FindingChange {
  WallTime time{};
  FindingChangeKind change = FindingChangeKind::kBegan;
  pid_t pid = 0;
  std::string process{};
  FindingSpan finding{};
};
const Shape& shape_of(const FindingChange*);

}  // namespace clrscope::live
