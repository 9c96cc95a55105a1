// Ends our EventPipe sessions when we are killed, or fail.
//
// A runtime notices that its listener has gone when it next writes, which may be never in an idle
// process: it keeps the session and its buffers until then. A child of ours that does nothing but
// wait for our end asks it to stop. Belongs to one thread; make it before other threads start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/fd.h"

namespace clrscope::collect {

struct GuardedSession {
  pid_t process = 0;
  std::string socket;
  std::uint64_t session = 0;
};

class Guardian {
 public:
  Guardian();
  ~Guardian();  // ends what was not forgotten: a recording that failed
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  void watch(const GuardedSession& what);
  void forget(const GuardedSession& what);  // it has ended by itself
  pid_t pid() const { return child_; }      // -1 when there is none

 private:
  pid_t child_ = -1;
  UniqueFd to_child_;
};

}  // namespace clrscope::collect
