// Looks at the heap of a process several times while it is examined, from frozen copies.
//
// Runs on a thread of its own, so that reading a large heap delays nothing else. Looks only while
// they cost the process little: what the first one costs decides how many follow.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "doctor/evidence.h"

namespace clrscope::ops {

class HeapWatch {
 public:
  // What it may cost the process: little, or what it takes, because somebody asked for it.
  enum class Price { kLittle, kAny };
  // Begins at once; the last look is at the end of `duration`. Holds `stopping` while the process
  // is stopped for a copy.
  HeapWatch(pid_t pid, std::chrono::nanoseconds duration, Price price, std::mutex& stopping);
  ~HeapWatch();
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;

  struct Seen {
    std::optional<doctor::HeapFacts> facts{};
    std::string reason{};             // why there are none
    std::string note{};               // what is worth knowing beside them
    std::vector<TraceTime> copies{};  // when the process was stopped for a look
    // Async methods at the first look, and at the last compared with that. Their pauses are those
    // of the looks.
    std::vector<inspect::AsyncSnapshot> async{};
  };
  // Waits for the last look. After stop() there is none.
  Seen take();
  void stop() { stopping_ = true; }

 private:
  void run(std::stop_token stop);
  // False: it is over.
  bool wait_until(TraceTime time, const std::stop_token& stop) const;
  void keep(inspect::AsyncSnapshot seen, TraceTime at);

  pid_t pid_;
  std::chrono::nanoseconds duration_;
  Price price_;
  std::mutex& stopping_now_;
  std::atomic<bool> stopping_ = false;
  TraceTime first_async_{};
  Seen seen_;            // until take(), touched by worker_ only
  std::jthread worker_;  // last: joins first
};

}  // namespace clrscope::ops
