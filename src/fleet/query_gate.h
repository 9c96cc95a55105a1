// How many queries run at a time, whoever asks them: REST and gRPC share one. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "base/result.h"

namespace clrscope::fleet {

class QueryGate {
 public:
  explicit QueryGate(std::size_t most_running = 2, std::size_t most_waiting = 64)
      : most_running_(most_running), most_waiting_(most_waiting) {}

  // One query; it ends with it.
  class Pass {
   public:
    explicit Pass(QueryGate& gate) : gate_(&gate) {}
    Pass(Pass&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), is_inside_(other.is_inside_) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) step_out();
    }
    // Lets others run while the query waits for its client; step_in() waits for a place again, and
    // is never refused because too many wait.
    void step_out();
    Result<> step_in();

   private:
    QueryGate* gate_;
    bool is_inside_ = true;
  };

  // Waits until it may run. Fails if too many wait, and when the caller's CancelScope is stopped.
  Result<Pass> enter();
  std::size_t waiting() const;

 private:
  Result<> wait_for_place();
  void leave();

  const std::size_t most_running_, most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable_any left_;
  std::size_t running_ = 0, waiting_ = 0;  // under mutex_
};

}  // namespace clrscope::fleet
