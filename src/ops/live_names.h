// Names of methods that are already loaded in running processes, from a short session each whose
// only content is the runtime's rundown.
//
// Requested on one thread and fetched on another, one process at a time, so that callers never
// wait.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/channel.h"
#include "base/guarded.h"

namespace clrscope::ops {

class LiveNames {
 public:
  LiveNames() = default;
  ~LiveNames() { stopping_ = true; }
  LiveNames(const LiveNames&) = delete;
  LiveNames& operator=(const LiveNames&) = delete;

  void ask(pid_t process) {
    ++open_;
    if (!asked_.try_push(process)) --open_;
  }
  bool busy() const { return open_ > 0; }  // some were asked and have not answered

  struct Names {
    pid_t process = 0;
    std::vector<std::uint8_t> trace;  // a whole one, with rundown events
  };
  std::vector<Names> take();  // what has come since the last call

 private:
  void run(std::stop_token stop);
  void fetch(pid_t process);

  std::atomic<bool> stopping_ = false;
  std::atomic<int> open_ = 0;  // questions
  Channel<pid_t> asked_{64};
  Guarded<std::vector<Names>> come_;
  std::jthread worker_{[this](std::stop_token stop) { run(stop); }};  // last: joins first
};

}  // namespace clrscope::ops
