// Threads for work that waits: a few, made when they are needed.
//
// Bounded: when all are busy and enough work is queued, more is refused. Any thread may call.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace clrscope::http {

class Workers {
 public:
  explicit Workers(std::size_t threads, std::size_t queue = 256) : most_(threads), queue_(queue) {}
  ~Workers();  // what is queued is not begun; what runs is waited for
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // False: too much is waiting already.
  bool run(std::function<void()> work);

 private:
  void work(const std::stop_token& stop);

  const std::size_t most_;
  const std::size_t queue_;
  std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<std::function<void()>> waiting_;
  std::size_t idle_ = 0;
  std::vector<std::jthread> threads_;  // last member: joins first
};

}  // namespace clrscope::http
