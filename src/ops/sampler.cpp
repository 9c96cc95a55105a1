#include "ops/sampler.h"

#include <fmt/format.h>

#include "ipc/discover.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kWaitForRuntime{5};
constexpr std::size_t kMostAgents = 32;

// In place of the whole machine: the .NET processes that let us in.
Result<AgentSamplers> sample_all(unsigned rate) {
  AgentSamplers agents;
  std::optional<Error> first;
  for (const auto& process : TRY(ipc::find_processes())) {
    if (!process.reachable() || process.status.state == 'T') continue;
    if (agents.all().size() == kMostAgents) {
      agents.notes.push_back(
          fmt::format("more than {} .NET processes: the others are not sampled", kMostAgents));
      break;
    }
    auto target = find_target({.pid = process.pid}, kWaitForRuntime, -1);
    auto added = target ? agents.add(*target, rate) : fail(target.error());
    if (added) continue;
    agents.notes.push_back(
        fmt::format("no CPU samples of process {}: {}", process.pid, added.error().what));
    if (!first) first = added.error();
  }
  if (!agents.empty()) return agents;
  if (first) return fail(*first);
  return fail(Errc::kNotFound, "no .NET process of this user found that the agent can sample");
}

}  // namespace

std::span<const std::string_view> names_of(Sampler) {
  static constexpr std::string_view kNames[] = {"best", "perf", "agent", "runtime"};
  return kNames;
}

Result<Sampler> parse_sampler(std::string_view name) {
  const auto names = names_of(Sampler{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Sampler>(i);
  return fail(Errc::kUsage, "unknown sampler: {}", name).hint("use best, perf, agent or runtime");
}

AgentSamplers::~AgentSamplers() {
  for (auto& one : loaded_) {
    one->samples.reset();
    if (!one->agent.already) (void)unload_agent(std::move(one->agent.connection));
  }
}

Result<> AgentSamplers::add(Target& target, unsigned rate) {
  if (target.suspended)
    return fail(Errc::kUnsupported, "it cannot be loaded before the runtime has started");
  auto one = std::make_unique<One>(One{TRY(load_agent(target)), nullptr});
  one->samples =
      std::make_unique<collect::AgentCpuSamples>(one->agent.connection, target.process.pid, rate);
  // Another clrscope may listen to it.
  if (auto opened = one->samples->open(); !opened) {
    one->samples.reset();
    if (!one->agent.already) (void)unload_agent(std::move(one->agent.connection));
    return opened;
  }
  loaded_.push_back(std::move(one));
  return {};
}

std::vector<collect::AgentCpuSamples*> AgentSamplers::all() const {
  std::vector<collect::AgentCpuSamples*> all;
  for (const auto& one : loaded_) all.push_back(one->samples.get());
  return all;
}

Result<AgentSamplers> choose_sampler(const SamplerRequest& request, const ProviderWords& words,
                                     Target& target, PerfGrant& grant) {
  const auto chosen = request.sampler;
  if (chosen == Sampler::kPerf && !grant.works)
    return fail(Errc::kDenied, "--sampler perf: {}", grant.detail).hint("{}", grant.hint);
  if (chosen == Sampler::kAgent || chosen == Sampler::kRuntime) {
    grant.works = false;
    grant.detail = fmt::format("--sampler {} was given", clrscope::name_of(chosen));
    grant.hint.clear();
  }
  AgentSamplers agents;
  if (grant.works || chosen == Sampler::kRuntime || !words.perf_events.empty() ||
      !TRY(wants_samples(words)))
    return agents;
  if (chosen == Sampler::kBest && (!request.may_load_agent || request.whole_machine)) {
    grant.agent.detail = "it is loaded only with --sampler agent";
    return agents;
  }
  if (request.whole_machine) {
    auto all = TRY(sample_all(request.rate));
    grant.agent.works = true;
    return all;
  }
  const auto added = agents.add(target, request.rate);
  if (!added && chosen == Sampler::kAgent) return fail(added.error());
  grant.agent.works = added.has_value();
  if (!added) grant.agent.detail = added.error().what;
  return agents;
}

}  // namespace clrscope::ops
