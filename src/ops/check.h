// Which data sources work here, for one process or in general, which of them each verb uses, why
// others do not work, and the remedy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"
#include "ops/ladder.h"
#include "ops/target.h"

namespace clrscope::ops {

enum class Works : std::uint8_t { kYes, kPartly, kNo };

struct CheckRow {
  std::string id;      // "diagnostic-port"
  std::string source;  // "diagnostic port"
  Works works = Works::kNo;
  std::string detail{};
  std::string hint{};
  std::vector<Remedy> next{};  // beside the hint
};

// What a verb uses for this process.
struct VerbUse {
  std::string verb;
  Works works = Works::kNo;
  std::vector<std::string> uses{};  // ids of rows
  std::string detail{};             // what is missing, and why
  std::string hint{};
};

struct CheckReport {
  std::optional<Process> process{};
  std::vector<CheckRow> rows;
  std::vector<VerbUse> verbs{};  // of a process only
  std::optional<Rung> rung{};    // where a recording with thread-time would stand
  std::vector<Remedy> next{};    // what makes the best of it; one of them
  std::string next_detail{};     // what it gives, or why there is none
};

std::string_view to_string(Works works);  // "yes", "partly", "no"
std::span<const std::string_view> names_of(Works);

struct CheckAnswer {
  struct Rung {
    CpuRung cpu = CpuRung::kRuntime;
    bool kernel_frames = false;
    WaitRung waits = WaitRung::kNone;
  };
  std::optional<pid_t> pid{};
  std::optional<std::string> process{};
  std::optional<std::string> runtime{};
  std::vector<CheckRow> sources{};
  std::vector<VerbUse> verbs{};
  std::optional<Rung> rung{};
  std::vector<Remedy> next{};
  std::string next_detail{};
};
const Shape& shape_of(const CheckRow*);
const Shape& shape_of(const VerbUse*);
const Shape& shape_of(const CheckAnswer::Rung*);
const Shape& shape_of(const CheckAnswer*);
CheckAnswer answer_of(const CheckReport& report);

Document check_document(const CheckReport& report);

// How a verb finds the process.
enum class PortKind {
  kAnswers,  // or would, if we might connect
  kSilent,   // there is one, and no answer
  kOff,      // there is none
  kAlone,    // it answers, and nothing else of the process is seen
};
// From rows with the ids that check() makes; a missing one counts as one that does not work.
std::vector<VerbUse> verbs_for(const std::vector<CheckRow>& rows, PortKind port);

// What holds for any of these processes.
CheckReport check_machine(const std::vector<Process>& processes);

// No target named: for any process there is.
Result<CheckReport> check(const std::optional<TargetRequest>& target);

}  // namespace clrscope::ops
