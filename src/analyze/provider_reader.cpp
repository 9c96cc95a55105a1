#include "analyze/provider_reader.h"

namespace clrscope::analyze {

const Shape& shape_of(const OutcomeTimes*) {
  static const auto shape = describe<OutcomeTimes>(
      "OutcomeTimes", "how often something happened, how long it took and how it ended",
      {inherited<OutcomeTimes, Times>(),
       member<&OutcomeTimes::failed>("failed", "those that failed")});
  return shape;
}

std::string text_field(const Event& event, const nettrace::PayloadPlan& plan,
                       std::string_view name) {
  const auto at = plan.find(name);
  const auto value = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
  return value ? nettrace::text_of(*value) : std::string{};
}

std::int64_t number_field(const Event& event, const nettrace::PayloadPlan& plan,
                          std::string_view name) {
  const auto at = plan.find(name);
  const auto value = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
  return value ? value->i : 0;
}

}  // namespace clrscope::analyze
