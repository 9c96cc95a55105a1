#include "collect/perf/process_filter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/io.h"

namespace clrscope::collect::perf {
namespace {

// Field 4 of /proc/PID/stat; the name before it may hold anything but its last parenthesis.
ProcessId parent_of(ProcessId process) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", static_cast<std::int32_t>(process)));
  if (!stat) return ProcessId{0};
  const auto name_end = stat->rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= stat->size()) return ProcessId{0};
  return ProcessId{std::atoi(stat->c_str() + name_end + 4)};
}

// Whom a record is about; nobody: losses concern everybody.
std::optional<ProcessId> process_of(const Record& record) {
  if (const auto* mapping = std::get_if<Mapping>(&record)) return mapping->process;
  if (const auto* name = std::get_if<ThreadName>(&record)) return name->process;
  if (std::holds_alternative<Sample>(record) || std::holds_alternative<Switch>(record))
    return origin_of(record).process;
  return std::nullopt;
}

}  // namespace

ProcessFilter::ProcessFilter(const std::vector<pid_t>& processes) {
  for (const auto pid : processes) known_[ProcessId{pid}] = true;
}

bool ProcessFilter::wants(ProcessId process) {
  if (static_cast<std::int32_t>(process) <= 0) return false;
  const auto [at, unknown] = known_.try_emplace(process, false);
  if (unknown) {
    const auto parent = known_.find(parent_of(process));
    at->second = parent != known_.end() && parent->second;
  }
  return at->second;
}

bool ProcessFilter::task(const Task& task) {
  if (task.kind == Task::Kind::kFork) {
    const bool wanted = wants(task.parent_process);
    if (task.is_process()) known_[task.process] = wanted;  // the number may have been another's
    return wanted;
  }
  const bool wanted = wants(task.process);
  if (task.is_process() && !wanted) known_.erase(task.process);
  return wanted;
}

bool ProcessFilter::wants(const Record& record) {
  if (const auto* t = std::get_if<Task>(&record)) return task(*t);
  const auto process = process_of(record);
  return !process || wants(*process);
}

bool ProcessFilter::undecided(const Record& record) const {
  const auto process = process_of(record);
  if (!process || static_cast<std::int32_t>(*process) <= 0 || known_.contains(*process))
    return false;
  return ::access(fmt::format("/proc/{}", static_cast<std::int32_t>(*process)).c_str(), F_OK) != 0;
}

}  // namespace clrscope::collect::perf
