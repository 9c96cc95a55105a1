// An examination as people read it in a terminal: what is wrong, how sure, what to do.
#pragma once

#include <functional>
#include <string>

#include "base/table.h"
#include "ops/examine_all.h"

namespace clrscope::ops {

// How it is shown: columns, and colours where there are some.
struct TextStyle {
  std::size_t width = 100;
  std::function<std::string(Tone, std::string_view)> paint{};  // empty: none
};

std::string doctor_text(const doctor::Examination& examination, const TextStyle& style = {});
// One line or two for each process, the worst first.
std::string round_text(const Round& round, const TextStyle& style = {});
std::string registry_text(std::size_t width);

}  // namespace clrscope::ops
