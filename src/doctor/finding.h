// A finding: something that can be wrong, how it is recognised, what looking for it costs. One file
// each in findings/, listed in findings.inc.
//
// examine() is a pure function of the evidence. The id never changes; docs/findings/ID.md says what
// it means and how it is cured.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/remedy.h"
#include "base/result.h"
#include "doctor/evidence.h"
#include "inspect/answer.h"

namespace clrscope::doctor {

// Harm: error = work stands still or soon will; warning = measured damage; info = facts.
enum class Severity : std::uint8_t { kInfo, kWarning, kError };
enum class Confidence : std::uint8_t { kPossible, kLikely, kCertain };
std::string_view name_of(Severity severity);      // "info", "warning", "error"
std::string_view name_of(Confidence confidence);  // "possible", "likely", "certain"
std::span<const std::string_view> names_of(Severity);
std::span<const std::string_view> names_of(Confidence);

using ShownFrame = inspect::FrameAnswer;
struct ShownThread {
  std::uint32_t os_id = 0;
  std::optional<std::uint32_t> managed_id{};
  std::string name{};
  std::string does{};  // "holds Shop.Cart 0x7f…10, wants Shop.Stock 0x7f…98"
  std::vector<ShownFrame> frames{};
};
struct ShownObject {
  std::uint64_t address = 0;
  std::string type{};
  std::string role{};  // "lock"
};
struct ShownNumber {
  std::string name{};  // as in JSON: "exceptionsPerSecond"
  double value = 0;
  std::string unit{};   // "1/s", "ms", "%"
  std::string words{};  // what people read: "50.2 exceptions a second"
};

// One thing found.
struct Report {
  Severity severity = Severity::kInfo;
  Confidence confidence = Confidence::kCertain;
  std::string title{};    // one line
  std::string summary{};  // one or two sentences; may be empty when the title says all
  std::vector<std::string> details{};
  std::vector<ShownThread> threads{};
  std::vector<ShownObject> objects{};
  std::vector<ShownNumber> numbers{};
  std::string advice{};
  std::vector<Remedy> next{};  // what to run to see more
  // For putting consequences to their causes: the threads that suffer, and those that make them.
  std::vector<std::uint32_t> sufferers{};
  std::vector<std::uint32_t> culprits{};

  // Set by diagnose().
  std::string_view id{};
  std::string_view because_of{};  // id of the report this one follows from; empty: none
  std::string_view part_of{};     // id of the graver report about the same threads; empty: none

  bool folded() const { return !because_of.empty() || !part_of.empty(); }
};

// What a finding cannot do without.
struct Needs {
  bool snapshots = false;
  bool events = false;
  bool cpu = false;
  bool async = false;  // async methods, from the heap of a copy of the process
  bool heap = false;   // looks at every object, in frozen copies of the process
  bool events_or_snapshots = false;
  bool calls = false;        // outgoing HTTP requests and DNS lookups, from a session of its own
  bool commands = false;     // database commands, likewise
  bool allocations = false;  // sampled allocations, likewise
  bool files = false;        // the application's: its configuration, how it was compiled
  bool state = false;        // what the kernel says of it: whether it is stopped
  bool live = false;         // a core cannot tell
  std::chrono::seconds least{};  // watched for at least so long
};

// What a finding needs before all.
enum class EvidenceKind : std::uint8_t { kMemory, kEvents, kCpu, kMemoryOrEvents, kProcess };
EvidenceKind kind_of(const Needs& needs);
std::span<const std::string_view> names_of(EvidenceKind);  // "memory", "events", "cpu" …

struct Parameter {
  std::string_view name;
  double value;  // default
  std::string_view meaning;
};

// The values of a finding's parameters.
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(std::span<const Parameter> declared) {
    for (const auto& one : declared) values_.emplace(one.name, one.value);
  }
  bool set(std::string_view name, double value);  // false: there is none of that name
  double operator[](std::string_view name) const;

 private:
  std::map<std::string_view, double> values_;
};

struct Finding {
  std::string_view id;     // "CS1001"
  std::string_view title;  // "lock cycle"
  std::string_view description;
  Needs needs;
  std::string_view price;   // what looking costs the process
  std::string_view rights;  // what it takes
  std::span<const Parameter> parameters{};
  std::vector<Report> (*examine)(const Evidence& evidence, const Parameters& parameters);
};

std::span<const Finding* const> findings();
const Finding* find_finding(std::string_view id);  // by id, in any case

// docs/findings/ID.md; empty: there is no such finding.
std::string_view explanation(std::string_view id);

}  // namespace clrscope::doctor
