#include "http/workers.h"

#include <malloc.h>

#include <atomic>

#include "base/clock.h"

namespace clrscope::http {
namespace {

// A heap or a large trace leaves much free memory behind: the machine can use it better. Free
// memory that was given back still counts as free, so this is not done after every small piece of
// work.
void give_back_memory(TraceTime begun) {
  constexpr std::size_t kMuch = 16 << 20;
  constexpr std::chrono::milliseconds kLong{100};
  constexpr std::chrono::seconds kSeldom{30};
  static std::atomic<TraceTime> looked{TraceTime{}};
  const auto now = TraceClock::now();
  if (now - begun < kLong && now - looked.load() < kSeldom) return;
  looked = now;
  if (::mallinfo2().fordblks > kMuch) (void)::malloc_trim(0);
}

}  // namespace

Workers::~Workers() {
  {
    const std::lock_guard lock{mutex_};
    waiting_.clear();
  }
  for (auto& thread : threads_) thread.request_stop();
}

bool Workers::run(std::function<void()> work) {
  {
    const std::lock_guard lock{mutex_};
    if (waiting_.size() >= queue_) return false;
    waiting_.push_back(std::move(work));
    if (waiting_.size() > idle_ && threads_.size() < most_)
      threads_.emplace_back([this](const std::stop_token& stop) { this->work(stop); });
  }
  ready_.notify_one();
  return true;
}

void Workers::work(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    ++idle_;
    ready_.wait(lock, stop, [&] { return !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto begun = TraceClock::now();
    next();
    next = nullptr;  // what it holds ends outside of the lock
    give_back_memory(begun);
    lock.lock();
  }
}

}  // namespace clrscope::http
