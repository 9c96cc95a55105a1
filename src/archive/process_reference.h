// The process that a stored artifact or an operation is about, as answers name it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/shape.h"
#include "model/process.h"

namespace clrscope::archive {

struct ProcessReference {
  pid_t pid = 0;
  std::string uid{};
  std::string name{};
  std::string runtime{};
};
const Shape& shape_of(const ProcessReference*);
ProcessReference reference_to(const Process& process);

}  // namespace clrscope::archive
