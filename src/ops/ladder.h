// How much of a wish the kernel grants here: the rung of the ladder that a recording stands on, and
// what is said of the rungs above it.
//
// Pure: what is granted was tried by collect/perf/rights.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "collect/perf/rights.h"
#include "ops/profiles.h"

namespace clrscope::ops {

enum class CpuRung {
  kMachine,  // perf, everything that runs
  kProcess,  // perf, processes of our own
  kRuntime,  // no perf: each runtime's own sampler
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

// The highest rung for the wish; `missing` names what was wished for only.
Rung choose_rung(const collect::perf::Rights& rights, Wanted wanted, KernelWish wish);

std::string_view to_string(CpuRung rung);   // "machine", "process", "runtime"
std::string_view to_string(WaitRung rung);  // "stacks", "times", "none"
std::string words_for(const Rung& rung);    // "CPU samples of the machine with kernel frames, …"

}  // namespace clrscope::ops
