// Which sources of knowledge work here, for one process or in general, what each verb uses of them;
// why not, and the remedy.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/table.h"
#include "model/process.h"
#include "ops/ladder.h"
#include "ops/target.h"

namespace clrscope::ops {

enum class Works { kYes, kPartly, kNo };

struct CheckRow {
  std::string id;      // "diagnostic-port"
  std::string source;  // "diagnostic port"
  Works works = Works::kNo;
  std::string detail{};
  std::string hint{};
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
  std::string best;              // the command that makes the best of it
};

std::string_view to_string(Works works);  // "yes", "partly", "no"
std::string to_json(const CheckReport& report);
using Paint = std::function<std::string(Tone, std::string_view)>;
std::string to_text(const CheckReport& report, const Paint& paint = {});  // empty: no colours

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
Result<CheckReport> check(const std::optional<TargetWish>& target);

}  // namespace clrscope::ops
