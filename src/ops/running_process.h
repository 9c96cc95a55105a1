// A process to look at from outside, also one whose diagnostic port cannot be reached: its memory
// may be.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/target.h"

namespace clrscope::ops {

struct RunningProcess {
  pid_t pid = 0;  // 0: of another pid namespace
  std::string name{};
  std::string runtime{};
};

// `verb` is for messages. By pid, name or diagnostic port; a command to start is an error.
Result<RunningProcess> find_running(const TargetRequest& request, std::string_view verb);

}  // namespace clrscope::ops
