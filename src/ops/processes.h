// The .NET processes of this machine, with what each runtime reports about itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/proc.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"

namespace clrscope::ops {

// Sorted by pid. A runtime that does not answer within a moment is listed all the same, with the
// reason. `skip`: those that the caller knows already.
Result<std::vector<Process>> list_processes(const std::function<bool(pid_t)>& skip = {});
// One of them.
Result<Process> list_process(pid_t pid);
// Age, CPU and memory as they are now.
void update_usage(Process& process, const ProcStatus& now);

// A process as `ps --json` shows it.
struct ProcessAnswer {
  pid_t pid = 0;
  std::string name{};
  std::string user{};
  std::string runtime{};
  std::string architecture{};
  std::string command_line{};
  bool reachable = false;
  std::optional<std::string> reason{};
  std::optional<std::string> hint{};
  std::chrono::nanoseconds up{};
  std::optional<double> cpu_percent{};
  std::optional<std::uint64_t> rss_bytes{};
  std::optional<std::string> container{};
};
const Shape& shape_of(const ProcessAnswer*);
ProcessAnswer answer_of(const Process& process);

// The application that runs as this process; asks it nothing.
Result<std::string> application_of(pid_t pid);

}  // namespace clrscope::ops
