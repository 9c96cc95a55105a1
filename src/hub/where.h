// A filter on events: provider, name, level and fields, as --where has it.
//
//   provider=Microsoft-* name=GC/Start Depth>=2 Reason=AllocLarge
//
// All conditions must hold. `=` and `!=` take `*` and `?`; `<`, `<=`, `>`, `>=` compare numbers.
// The words provider, name, id, level, pid and tid are the event's own; every other one is a field
// of its payload, and an event without that field does not pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "nettrace/payload.h"

namespace clrscope::hub {

class Where {
 public:
  Where() = default;
  static Result<Where> parse(std::string_view text);

  bool empty() const { return conditions_.empty(); }
  bool passes(const Event& event, const nettrace::PayloadPlan& plan) const;

 private:
  enum class Op : std::uint8_t { kIs, kIsNot, kLess, kLessOrEqual, kMore, kMoreOrEqual };
  enum class Of : std::uint8_t { kProvider, kName, kId, kLevel, kProcess, kThread, kField };
  struct Condition {
    Of of = Of::kField;
    Op op = Op::kIs;
    std::string key{};
    std::string text{};
    double number = 0;
  };
  static bool holds(const Condition& condition, std::string_view text);
  static bool holds(const Condition& condition, double number);
  static bool holds_field(const Condition& condition, const Event& event,
                          const nettrace::PayloadPlan& plan);
  std::vector<Condition> conditions_;
};

}  // namespace clrscope::hub
