#include "ops/process_facts.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cgroup.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/maps.h"
#include "base/proc.h"
#include "base/target_root.h"
#include "base/text.h"
#include "inspect/assembly_file.h"
#include "symbols/method_name.h"

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

// The application's dll or executable, as the process names it; empty: unknown.
std::string entry_file(pid_t pid) {
  const auto executable = proc_executable(pid);
  const auto words = proc_command_line(pid);
  if (!executable) return {};
  if (!executable->ends_with("/dotnet")) return *executable;
  if (!words) return {};
  for (const auto& word : *words) {
    if (!word.ends_with(".dll")) continue;
    if (word.starts_with('/')) return word;
    std::error_code error;
    const auto folder = fs::read_symlink(fmt::format("/proc/{}/cwd", pid), error);
    return error ? "" : (folder / word).lexically_normal().string();
  }
  return {};
}

// The properties of the application's runtimeconfig.json.
std::map<std::string, std::string> runtime_config(pid_t pid) {
  auto path = entry_file(pid);
  if (path.empty()) return {};
  if (path.ends_with(".dll")) path.resize(path.size() - 4);
  constexpr std::size_t kMost = 1 << 20;
  const auto root = TargetRoot::open(pid);
  if (!root) return {};
  const auto text = root->read_file(path + ".runtimeconfig.json", kMost);
  const auto json = text ? read_json(*text) : fail(text.error());
  const auto* options = json ? json->find("runtimeOptions") : nullptr;
  const auto* properties = options ? options->find("configProperties") : nullptr;
  std::map<std::string, std::string> config;
  if (properties && properties->object())
    for (const auto& [name, value] : *properties->object()) config[name] = scalar_text(value);
  return config;
}

// Whose commands the runtime's events tell.
bool is_database_client(std::string_view path) {
  constexpr std::string_view kClients[] = {"/Microsoft.EntityFrameworkCore.Relational.dll",
                                           "/Microsoft.Data.SqlClient.dll",
                                           "/System.Data.SqlClient.dll"};
  return std::ranges::any_of(kClients, [&](auto name) { return path.ends_with(name); });
}

// From its assemblies that are mapped: its own that were compiled without optimization, and whether
// it has a web server.
void add_assemblies(pid_t pid, doctor::ProcessFacts& facts) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid));
  const auto root = TargetRoot::open(pid);
  if (!maps || !root) return;
  constexpr std::size_t kMost = 64 << 20;
  std::set<std::string> seen;
  for (const auto line : split(*maps, '\n')) {
    const auto mapped = parse_maps_line(line);
    if (!mapped || !mapped->path.ends_with(".dll")) continue;
    const auto path = unescaped_maps_path(mapped->path);
    if (path.ends_with("/Microsoft.AspNetCore.Server.Kestrel.Core.dll")) facts.web_server = true;
    if (is_database_client(path)) facts.database_client = true;
    if (is_framework_module(path) || !seen.insert(path).second) continue;
    const auto file = root->read_file(path, kMost);
    if (!file) continue;
    const auto debug = inspect::is_debug_build(as_bytes(*file));
    if (debug && *debug) facts.debug_assemblies.push_back(path.substr(path.rfind('/') + 1));
  }
}

bool is_told(std::string_view name) {
  return name.starts_with("DOTNET_") || name.starts_with("COMPlus_") || name.starts_with("LC_") ||
         name == "LANG";
}

}  // namespace

void add_environment(doctor::ProcessFacts& facts, std::map<std::string, std::string> environment) {
  for (auto& [name, value] : environment)
    if (is_told(name)) facts.environment.emplace(name, std::move(value));
}

doctor::ProcessFacts process_facts(pid_t pid, FactSource source) {
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
  if (auto environment = proc_environment(pid)) add_environment(facts, *std::move(environment));
  if (source == FactSource::kProc) return facts;
  facts.runtime_config = runtime_config(pid);
  add_assemblies(pid, facts);
  return facts;
}

}  // namespace clrscope::ops
