// What a fleet server wants of the profile of a process, as its relay says it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clrscope::ops {

struct CentralSettings {
  std::uint64_t version = 0;           // 0: there are none
  std::vector<std::string> include{};  // empty: all as the profile was asked for
  std::vector<std::string> exclude{};
  std::optional<double> sample{};  // 0 to 1; nothing: as many as the budget allows
  double budget_percent = 1;
};

// Lines that the relay writes: settings, and its counts when it ends. Nothing: not settings.
std::optional<CentralSettings> central_settings_of(std::string_view line);

}  // namespace clrscope::ops
