#include "ops/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "collect/perf/event_names.h"
#include "collect/perf/rights.h"
#include "ipc/discover.h"
#include "model/provider_names.h"

namespace clrscope::ops {
namespace {

constexpr std::string_view kRuntimeSampler = "dotnet-sampled-thread-time";

// The profiles with the runtime's sampler in the place of those that need the kernel.
Result<std::string> without_kernel(std::string_view profiles) {
  std::vector<std::string> kept;
  for (const auto name : split(profiles, ',')) {
    const auto* profile = TRY(find_trace_profile(trim(name)));
    const auto use = profile->kernel == KernelData::kNothing ? profile->name : kRuntimeSampler;
    if (std::ranges::find(kept, use) == kept.end()) kept.emplace_back(use);
  }
  return fmt::format("{}", fmt::join(kept, ","));
}

Rung rung_of(const PerfGrant& grant, KernelData request) {
  if (grant.rights) return choose_rung(*grant.rights, grant.wanted, request);
  return {.cpu = grant.wanted == Wanted::kMachine ? CpuRung::kMachine : CpuRung::kProcess,
          .waits = request == KernelData::kThreadTime ? WaitRung::kStacks : WaitRung::kNone};
}

Result<std::vector<collect::perf::EventRequest>> perf_events_of(const ProviderWords& words) {
  if (words.perf_events.empty()) return std::vector<collect::perf::EventRequest>{};
  return collect::perf::parse_event_names(fmt::format("{}", fmt::join(words.perf_events, ",")));
}

}  // namespace

Result<> check_words(const ProviderWords& words) {
  (void)TRY(parse_selection(words));
  (void)TRY(perf_events_of(words));
  return {};
}

Result<bool> wants_samples(const ProviderWords& words) {
  return words.empty() || TRY(parse_selection(words)).kernel != KernelData::kNothing;
}

PerfGrant perf_grant(pid_t process) {
  using PerfWorks = collect::perf::Right::Works;
  if (process == 0) {
    const auto rights = collect::perf::probe_rights(std::nullopt);
    const bool works =
        rights.machine_cpu.works != PerfWorks::kNo || rights.process_cpu.works != PerfWorks::kNo;
    return {.works = works,
            .detail = rights.machine_cpu.detail,
            .hint = rights.machine_cpu.hint,
            .wanted = Wanted::kMachine,
            .rights = rights};
  }
  // One with its port off was found by its number and looked at, here.
  if (const auto found = ipc::find_process(process);
      !found || (!found->reachable() && found->unreachable.code != Errc::kUnsupported))
    return {.detail = fmt::format("process {} is not visible from here", process),
            .hint = "run clrscope in the pid namespace of the process, with the pid it has there"};
  const auto rights = collect::perf::probe_rights(process);
  const auto& right = rights.process_cpu;
  return {.works = right.works != PerfWorks::kNo,
          .detail = right.detail,
          .hint = right.hint,
          .rights = rights};
}

Result<Plan> plan_recording(const ProviderWords& words, const PerfGrant& grant) {
  Plan plan;
  auto wanted = words;
  const bool agent = !grant.works && grant.agent.works;
  const auto* const instead =
      agent ? "the agent samples the process instead" : "the runtime's own sampler is used instead";
  if (words.empty()) {
    plan.waits_while_cheap = grant.works && grant.wanted == Wanted::kMachine;
    wanted.profiles = plan.waits_while_cheap ? kDefaultMachineProfiles
                      : grant.works || agent ? kDefaultProfiles
                                             : kDefaultProfilesWithoutPerf;
    plan.note =
        fmt::format("Profile: {}{} (default{})", *wanted.profiles,
                    plan.waits_while_cheap ? ", waits while there are few" : "",
                    grant.works ? "" : fmt::format("; perf is unavailable: {}", grant.detail));
  }
  plan.selection = TRY(parse_selection(wanted));
  plan.perf_events = TRY(perf_events_of(words));
  plan.kernel = plan.selection.kernel != KernelData::kNothing || !plan.perf_events.empty();
  if (!plan.perf_events.empty() && !grant.works)
    return fail(Errc::kDenied, "--perf-events requires perf: {}", grant.detail)
        .hint("{}", grant.hint);
  if (plan.kernel && agent) {
    plan.kernel = false;
    plan.agent = true;
    plan.rung = {.cpu = CpuRung::kAgent, .kernel_frames = false};
    plan.note = fmt::format(
        "no CPU samples from the kernel: {}; {}{}", grant.detail, instead,
        plan.selection.kernel == KernelData::kThreadTime ? ", waits are not recorded" : "");
  } else if (plan.kernel && !grant.works) {
    wanted.profiles = TRY(without_kernel(*wanted.profiles));
    plan.selection = TRY(parse_selection(wanted));
    plan.kernel = false;
    plan.rung = {.cpu = CpuRung::kRuntime, .kernel_frames = false};
    plan.note = fmt::format("no CPU samples from the kernel: {}; {}", grant.detail, instead);
    if (!grant.agent.detail.empty())
      plan.note += fmt::format(" (no agent: {})", grant.agent.detail);
  }
  if (!grant.works) plan.hint = grant.hint;
  if (plan.kernel) plan.rung = rung_of(grant, plan.selection.kernel);
  if ((plan.kernel || plan.agent) && (words.empty() || !words.by_name))
    set_dear_apart(plan.selection);
  return plan;
}

std::span<const std::string_view> names_of(Sampling) {
  static constexpr std::string_view kNames[] = {"none", "perf", "runtime", "agent"};
  return kNames;
}

Sampling sampling_of(const Plan& plan) {
  if (plan.agent) return Sampling::kAgent;
  if (plan.kernel) return plan.rung.cpu == CpuRung::kRuntime ? Sampling::kRuntime : Sampling::kPerf;
  for (const auto& one : plan.selection.providers)
    if (one.provider.name == kSamplerProvider) return Sampling::kRuntime;
  return Sampling::kNone;
}

}  // namespace clrscope::ops
