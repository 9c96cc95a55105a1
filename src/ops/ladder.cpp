#include "ops/ladder.h"

#include <fmt/format.h>

#include <array>

namespace clrscope::ops {
namespace {

using collect::perf::Right;
using collect::perf::Rights;
using Works = Right::Works;

void add_missing(Rung& rung, std::string_view without, const Right& why) {
  rung.missing.push_back({Errc::kDenied, fmt::format("{}: {}", without, why.detail), why.hint});
}

void choose_cpu(Rung& rung, const Rights& rights, Wanted wanted, const AgentGrant& agent) {
  const bool machine = wanted == Wanted::kMachine;
  const auto& first = machine ? rights.machine_cpu : rights.process_cpu;
  rung.cpu = machine ? CpuRung::kMachine : CpuRung::kProcess;
  rung.kernel_frames = first.works == Works::kYes;
  if (first.works != Works::kNo) {
    if (!rung.kernel_frames) add_missing(rung, "no kernel frames", first);
    return;
  }
  if (machine && rights.process_cpu.works != Works::kNo) {
    rung.cpu = CpuRung::kProcess;
    rung.kernel_frames = rights.process_cpu.works == Works::kYes;
    add_missing(rung,
                rung.kernel_frames ? "only our own .NET processes"
                                   : "only our own .NET processes, without kernel frames",
                first);
    return;
  }
  if (agent.works) {
    rung.cpu = CpuRung::kAgent;
    add_missing(rung, "no CPU samples from the kernel, the agent samples the process instead",
                first);
    return;
  }
  rung.cpu = CpuRung::kRuntime;
  add_missing(rung, "no CPU samples from the kernel, the runtime's own sampler is used instead",
              first);
}

void choose_waits(Rung& rung, const Right& switches) {
  const bool kernel = rung.cpu == CpuRung::kMachine || rung.cpu == CpuRung::kProcess;
  rung.waits = !kernel                            ? WaitRung::kNone
               : switches.works == Works::kYes    ? WaitRung::kStacks
               : switches.works == Works::kPartly ? WaitRung::kTimes
                                                  : WaitRung::kNone;
  if (!kernel) return;  // said already
  if (rung.waits == WaitRung::kTimes)
    add_missing(rung, "waits without the kernel's stacks", switches);
  if (rung.waits == WaitRung::kNone) add_missing(rung, "no waits", switches);
}

}  // namespace

Rung choose_rung(const Rights& rights, Wanted wanted, KernelData request, const AgentGrant& agent) {
  Rung rung;
  choose_cpu(rung, rights, wanted, agent);
  if (request == KernelData::kThreadTime) choose_waits(rung, rights.context_switches);
  return rung;
}

std::span<const std::string_view> names_of(CpuRung) {
  static constexpr std::array<std::string_view, 4> kNames{"machine", "process", "agent", "runtime"};
  return kNames;
}

std::span<const std::string_view> names_of(WaitRung) {
  static constexpr std::array<std::string_view, 3> kNames{"stacks", "times", "none"};
  return kNames;
}

std::string words_for(const Rung& rung) {
  if (rung.cpu == CpuRung::kRuntime) return "events and the runtime's own sampler";
  if (rung.cpu == CpuRung::kAgent)
    return "CPU samples by the agent, which is loaded into the process meanwhile";
  return fmt::format("CPU samples of {}{}, {}",
                     rung.cpu == CpuRung::kMachine ? "the machine" : "our own processes",
                     rung.kernel_frames ? " with kernel frames" : " without kernel frames",
                     rung.waits == WaitRung::kStacks  ? "waits with stacks"
                     : rung.waits == WaitRung::kTimes ? "waits without the kernel's stacks"
                                                      : "no waits");
}

}  // namespace clrscope::ops
