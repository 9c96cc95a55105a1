#include "ops/process_facts.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "base/cgroup.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

std::optional<double> processors_of_affinity(pid_t pid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(pid, sizeof set, &set) != 0) return {};
  return CPU_COUNT(&set);
}

// Each heap of the server GC has a thread of this name.
std::optional<std::uint32_t> server_gc_threads(pid_t pid) {
  std::error_code error;
  fs::directory_iterator tasks{fmt::format("/proc/{}/task", pid), error};
  if (error) return {};
  std::uint32_t count = 0;
  for (const auto& task : tasks)
    if (const auto name = read_file(task.path().string() + "/comm");
        name && trim(*name) == ".NET Server GC")
      ++count;
  return count;
}

bool is_told(std::string_view name) {
  return name.starts_with("DOTNET_") || name.starts_with("COMPlus_") || name.starts_with("LC_") ||
         name == "LANG";
}

}  // namespace

doctor::ProcessFacts process_facts(pid_t pid) {
  doctor::ProcessFacts facts{.pid = pid};
  if (const auto status = proc_status(pid)) {
    facts.name = status->comm;
    facts.up = status->age;
    if (status->rss_bytes > 0) facts.rss_bytes = status->rss_bytes;
  }
  const auto limits = cgroup_limits(pid);
  facts.processors = processors_of_affinity(pid);
  facts.memory_limit = limits.memory_bytes;
  facts.few_by_cgroup = limits.processors.has_value();
  if (limits.processors)
    facts.processors = std::min(facts.processors.value_or(*limits.processors), *limits.processors);
  facts.server_gc_threads = server_gc_threads(pid);
  if (auto environment = proc_environment(pid))
    for (auto& [name, value] : *environment)
      if (is_told(name)) facts.environment.emplace(name, std::move(value));
  return facts;
}

}  // namespace clrscope::ops
