#include "archive/server_mark.h"

#include <unistd.h>

#include "base/proc.h"

namespace clrscope::archive {

const Shape& shape_of(const ServerMark*) {
  using S = ServerMark;
  static const auto shape = describe<S>(
      "ServerMark", "The clrscope that works on it",
      {member<&S::recorder_pid>("recorderPid", "process id of the clrscope that records it"),
       member<&S::recorder_start>("recorderStart", "start of that process, in clock ticks")});
  return shape;
}

ServerMark mark_of_this_server() {
  const auto us = proc_status(::getpid());
  return {.recorder_pid = ::getpid(), .recorder_start = us ? us->start_ticks : 0};
}

bool other_server_lives(const JsonValue& marked) {
  const auto pid = static_cast<pid_t>(count_at(marked, "recorderPid"));
  if (pid <= 0 || pid == ::getpid()) return false;
  const auto status = proc_status(pid);
  return status && status->start_ticks == count_at(marked, "recorderStart");
}

}  // namespace clrscope::archive
