// The process whose memory is to be read, also one whose diagnostic port cannot be reached. Used
// inside ops only.
#pragma once

#include <string>

#include "base/result.h"
#include "ops/target.h"

namespace clrscope::ops {

struct ReadableProcess {
  pid_t pid = 0;  // 0: of another pid namespace
  std::string name{};
  std::string runtime{};
};
Result<ReadableProcess> find_readable_process(const TargetRequest& request);

}  // namespace clrscope::ops
