// Which sources of knowledge work here, for one process or in general; why not, and the remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
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

struct CheckReport {
  std::optional<Process> process{};
  std::vector<CheckRow> rows;
  std::optional<Rung> rung{};  // where a recording with thread-time would stand
  std::string best;            // the command that makes the best of it
};

std::string_view to_string(Works works);  // "yes", "partly", "no"
std::string to_json(const CheckReport& report);

// What holds for any of these processes.
CheckReport check_machine(const std::vector<Process>& processes);

// No target named: for any process there is.
Result<CheckReport> check(const std::optional<TargetWish>& target);

}  // namespace clrscope::ops
