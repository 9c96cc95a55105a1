// Makes the runtime write a core dump of its process: estimates the size and pause first, reports
// progress, moves the file to its place.
//
// The runtime writes the file itself, with its own rights and in its own file system; where that is
// not ours, the dump goes to its temporary folder first and is moved from there.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "ops/target.h"

namespace clrscope::ops {

enum class DumpType { kMini, kTriage, kHeap, kFull };
Result<DumpType> parse_dump_type(std::string_view text);
std::string_view name_of(DumpType type);

struct DumpRequest {
  TargetRequest target;
  DumpType type = DumpType::kFull;
  std::string output{};  // empty: a name made from the application and the time
};

// How long writing so much takes: on a fast and idle machine, and on a slow or busy one.
struct DumpPause {
  std::chrono::milliseconds least{};
  std::chrono::milliseconds most{};
};
DumpPause dump_pause(std::uint64_t bytes);
// About so large; 0 where its memory cannot be seen.
std::uint64_t dump_bytes(pid_t pid, DumpType type);

// What it will cost: the process stands still while the dump is written.
struct DumpPrice {
  std::uint64_t bytes = 0;  // about
  std::uint64_t free_bytes = 0;
  DumpPause pause{};
};

struct DumpWatcher {
  std::function<void(const Process&, const DumpPrice&, const std::string& file)> on_price{};
  std::function<void(std::uint64_t bytes, std::chrono::nanoseconds elapsed)> on_progress{};
};

struct DumpSummary {
  std::string file;
  Process process;
  std::uint64_t bytes = 0;
  std::uint64_t expected_bytes = 0;  // said before; 0: its memory could not be seen
  std::chrono::nanoseconds took{};   // the process stood still for most of it
  std::string note{};                // who can read it; empty: we can
};

struct DumpAnswer {
  std::string file{};
  pid_t pid = 0;
  std::uint64_t bytes = 0;
  std::uint64_t expected_bytes = 0;
  std::chrono::nanoseconds pause{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const DumpAnswer*);
DumpAnswer answer_of(const DumpSummary& summary);

// A dump that would not fit the disk is refused before the process is touched.
Result<DumpSummary> dump(const DumpRequest& request, const DumpWatcher& watcher);

}  // namespace clrscope::ops
