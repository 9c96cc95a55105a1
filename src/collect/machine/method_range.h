// A method that the runtime's events do not tell, or not well enough, found by somebody else.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "model/ids.h"

namespace clrscope::collect {

struct MethodRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::string name{};  // as perf maps write it: "void [Shop] Shop.Cart::Add(int)"
};
using FindMethod = std::function<std::optional<MethodRange>(ProcessId, std::uint64_t address)>;

}  // namespace clrscope::collect
