// A visit of the doctor: who was looked at and how, and what came of it; as JSON and as a page.
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
  std::chrono::nanoseconds paused{};  // all that the looks cost the process
  std::size_t looks = 0;
  std::string source{};    // of the looks: "data contracts", "DAC"; empty: there were none
  std::uint64_t lost = 0;  // events
  std::optional<ProgramCost> cost{};
  std::vector<std::string> notes{};
  Diagnosis diagnosis{};
};

// The members of a JSON object's `findings` and `examined`, and who was looked at.
std::string to_json(const Examination& examination);
// One file, no scripts, nothing from elsewhere.
std::string to_html(const Examination& examination);
// The registry: [{id, name, description, needs, durationSeconds, parameters, price, rights}].
std::string registry_json();

// What did not run, with the same reason together: "lock cycle, zombie threads (needs …)".
std::vector<std::string> not_run_lines(const Diagnosis& diagnosis);
// "Shop.Api (4312), .NET 10.0.12, 3d04h up · looked for 10 s, paused it 0 ms"
std::string headline(const Examination& examination);

}  // namespace clrscope::doctor
