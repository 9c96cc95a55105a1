// What each runtime of a recording is asked for. In several sessions, since a session has one level
// for a provider and cannot be narrowed: what is dear must be able to end alone.
#pragma once

#include <string>
#include <string_view>

#include "ipc/commands.h"

namespace clrscope::collect {

struct RuntimeEvents {
  ipc::SessionConfig session{};
  // Nobody asked for them by name: where they cost the program much, this session ends, and they
  // are only counted from then on.
  bool while_cheap = false;
  std::string what{};  // of these: "exceptions"
};

// Which of the runtime's own counters goes on counting when they end, and what the trace calls it.
struct CountedOn {
  std::string_view what;      // as in RuntimeEvents
  std::string_view counter;   // of System.Runtime; empty: none does
  std::string_view counting;  // in Universal.Events: from here on
  std::string_view counted;   // so many more
  std::string_view ended;     // no more of them are recorded; so many a second there were
};
inline constexpr CountedOn kCountedOn[] = {
    {"exceptions", "exception-count", "exceptions_counting", "exceptions_counted",
     "exceptions_ended"},
    {"lock waits", "monitor-lock-contention-count", "lock_waits_counting", "lock_waits_counted",
     "lock_waits_ended"},
    {"thread pool events", "", "", "", "thread_pool_ended"},
};

}  // namespace clrscope::collect
