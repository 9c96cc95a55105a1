// How much of a request the kernel permits here: the rung of the ladder that a recording uses, and
// the reasons why higher rungs are unavailable.
//
// Pure: collect/perf/rights.h tried what is permitted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/perf/rights.h"
#include "ops/profiles.h"

namespace clrscope::ops {

enum class CpuRung {
  kMachine,  // perf, everything that runs
  kProcess,  // perf, processes of our own
  kAgent,    // no perf: timers of the agent in one process
  kRuntime,  // neither: each runtime's own sampler
};

enum class WaitRung {
  kStacks,  // where threads wait, and for how long
  kTimes,   // for how long; the runtime's events say where
  kNone,
};

struct Rung {
  CpuRung cpu = CpuRung::kMachine;
  bool kernel_frames = true;
  WaitRung waits = WaitRung::kNone;
  std::vector<Error> missing{};  // a line each: what there is not and why, and how to get it
};

enum class Wanted { kMachine, kProcess };

// Whether the agent can take CPU samples of the target; `detail` says why not.
struct AgentGrant {
  bool works = false;
  std::string detail{};
};

// The highest rung for the request; `missing` names what was requested for only.
Rung choose_rung(const collect::perf::Rights& rights, Wanted wanted, KernelData request,
                 const AgentGrant& agent = {});

std::span<const std::string_view> names_of(CpuRung);   // "machine", "process", "agent", "runtime"
std::span<const std::string_view> names_of(WaitRung);  // "stacks", "times", "none"
std::string words_for(const Rung& rung);  // "CPU samples of the machine with kernel frames, …"

}  // namespace clrscope::ops
