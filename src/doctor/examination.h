// One run of the doctor: which process was examined and how, and the findings; as JSON.
#pragma once

#include <string>

#include "doctor/diagnose.h"
#include "model/program_cost.h"

namespace clrscope::doctor {

struct Examination {
  ProcessFacts process{};
  std::string core{};  // its path; empty: a live process
  std::chrono::system_clock::time_point taken{};
  std::chrono::nanoseconds took{};
  std::chrono::nanoseconds watched{};
  std::chrono::nanoseconds paused{};  // all that the snapshots cost the process
  std::size_t snapshots = 0;
  inspect::SnapshotSource source = inspect::SnapshotSource::kNone;  // of the snapshots
  std::uint64_t lost = 0;                                           // events
  std::optional<ProgramCost> cost{};
  std::vector<std::string> notes{};
  Diagnosis diagnosis{};
};

// As doctor/answer.h describes it.
std::string to_json(const Examination& examination);
// The registry, a FindingAnswer each.
std::string registry_json();

// What did not run, with the same reason together: "lock cycle, zombie threads (needs …)".
std::vector<std::string> not_run_lines(const Diagnosis& diagnosis);
// "Shop.Api (4312), .NET 10.0.12, 3d04h up · watched for 10 s, paused for 0 ms"
std::string headline(const Examination& examination);

}  // namespace clrscope::doctor
