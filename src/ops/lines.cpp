#include "ops/lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "symbols/method_name.h"
#include "symbols/source_lines.h"

namespace clrscope::ops {

std::string missing_lines(const SourceLines& lines) {
  constexpr std::size_t kTold = 3;
  std::vector<std::string> names;
  for (const auto& one : lines.missing())
    if (!is_framework_module(one.module)) names.push_back(one.why);
  if (names.empty()) return {};
  const auto more = names.size() - std::min(names.size(), kTold);
  names.resize(std::min(names.size(), kTold));
  return fmt::format("no source lines: {}{}", fmt::join(names, "; "),
                     more > 0 ? fmt::format("; and {} more", more) : "");
}

}  // namespace clrscope::ops
