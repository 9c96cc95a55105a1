// A method that was chosen to be measured and was not, with the reason: what `clrscope agent
// methods` and `clrscope requests` say of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "base/shape.h"

namespace clrscope::analyze {

struct UnmeasuredMethod {
  std::string method{};
  std::string reason{};
  std::optional<std::string> code{};  // HRESULT of the runtime
};
const Shape& shape_of(const UnmeasuredMethod*);

// Those that say something about the process first; no more than a person reads.
void order_and_cut(std::vector<UnmeasuredMethod>& methods);

DocumentTable unmeasured_table(const std::vector<UnmeasuredMethod>& methods, std::size_t rows);

}  // namespace clrscope::analyze
