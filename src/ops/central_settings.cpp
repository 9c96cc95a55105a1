#include "ops/central_settings.h"

#include <algorithm>

#include "base/json_reader.h"

namespace clrscope::ops {

std::optional<CentralSettings> central_settings_of(std::string_view line) {
  const auto json = read_json(line);
  const auto* told = json ? json->find("configuration") : nullptr;
  if (told == nullptr || told->object() == nullptr) return {};
  CentralSettings settings{.version = count_at(*told, "version"),
                           .include = texts_at(*told, "include"),
                           .exclude = texts_at(*told, "exclude")};
  if (const auto* sample = told->find("sample"); sample && sample->number())
    settings.sample = std::clamp(*sample->number(), 0.0, 1.0);
  // Never more than the command line would take, whatever a server says.
  if (const auto* budget = told->find("budgetPercent"); budget && budget->number())
    settings.budget_percent = std::clamp(*budget->number(), 0.1, 50.0);
  return settings;
}

}  // namespace clrscope::ops
