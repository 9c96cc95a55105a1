// Where the processor time goes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

constexpr Parameter kParameters[] = {
    {"processors", 0.1, "minimum CPU use of the process, in CPUs"},
    {"percent", 20, "minimum share of the CPU time of a method"},
};
constexpr std::size_t kShown = 5;

std::vector<Report> examine(const Evidence& evidence, const Parameters& parameters) {
  const auto& cpu = *evidence.cpu;
  if (cpu.methods.empty() || cpu.samples < 20) return {};
  if (cpu.busy > 0 && cpu.busy < parameters["processors"]) return {};
  const auto& hottest = cpu.methods.front();
  if (100 * hottest.self < parameters["percent"]) return {};
  Report report{.severity = Severity::kInfo,
                .confidence = cpu.by_kernel ? Confidence::kCertain : Confidence::kLikely,
                .title = fmt::format("CPU hot path: {:.0f} % of the CPU time in {}",
                                     100 * hottest.self, hottest.method)};
  report.summary = cpu.busy > 0 ? fmt::format("It keeps {:.2f} CPUs busy ({} samples in {}).",
                                              cpu.busy, cpu.samples, format_duration(cpu.length))
                                : fmt::format("{} samples of running threads in {}.", cpu.samples,
                                              format_duration(cpu.length));
  const auto caller = std::ranges::find_if(cpu.hot_path, &CpuMethod::own);
  if (caller != cpu.hot_path.end() && caller != cpu.hot_path.begin())
    report.summary += fmt::format(" Called from {}.", caller->method);
  for (std::size_t i = 0; i < std::min(kShown, cpu.methods.size()); ++i)
    report.details.push_back(
        fmt::format("{:5.1f} %  {}", 100 * cpu.methods[i].self, cpu.methods[i].method));
  if (cpu.hot_path.size() > 1) {
    ShownThread path{.os_id = static_cast<std::uint32_t>(cpu.hot_thread),
                     .name = cpu.hot_thread_name,
                     .does = "the hot path"};
    bool own = std::ranges::none_of(cpu.hot_path, &CpuMethod::own);
    for (const auto& frame : cpu.hot_path) {
      if (path.frames.size() >= kShown && own) break;  // the caller that can be changed is there
      path.frames.push_back({.method = frame.method, .module = frame.module});
      own |= frame.own;
    }
    report.threads.push_back(std::move(path));
  }
  report.numbers = {{"selfPercent", 100 * hottest.self, "%",
                     fmt::format("{:.1f} % in {} and the native code it calls", 100 * hottest.self,
                                 hottest.method)},
                    {"processorsBusy", cpu.busy, "", fmt::format("{:.2f} processors", cpu.busy)}};
  report.advice = "record CPU samples to see all methods, threads and kinds of code";
  report.next = {remedy(evidence, "collect", {{"profile", "cpu-sampling"}}),
                 {"report", {{"report", "cpu"}}}};
  return {report};
}

}  // namespace

extern const Finding hot_path_finding{
    .id = "CS1401",
    .title = "CPU hot path",
    .description = "The methods that use the most CPU time.",
    .needs = {.cpu = true, .live = true, .least = std::chrono::seconds{1}},
    .price = "about 1 % of the process's CPU while it is watched",
    .rights = "perf events of the process; without them the diagnostic port (runtime's sampler)",
    .parameters = kParameters,
    .examine = examine,
};

}  // namespace clrscope::doctor
