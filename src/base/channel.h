// A bounded queue between one owner and another. The producer never waits: what does not fit is
// dropped and counted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>

namespace clrscope {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) {}

  // Any thread. False when the channel is full: the item is dropped and counted.
  bool try_push(T item) {
    {
      const std::lock_guard lock{mutex_};
      if (items_.size() >= capacity_) {
        ++dropped_;
        return false;
      }
      items_.push_back(std::move(item));
    }
    ready_.notify_one();
    return true;
  }

  // Waits for an item. After a stop it drains what is queued, then returns nothing.
  std::optional<T> pop(std::stop_token stop) {
    std::unique_lock lock{mutex_};
    ready_.wait(lock, stop, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item{std::move(items_.front())};
    items_.pop_front();
    return item;
  }

  // The same, but gives up after `patience`.
  std::optional<T> pop_for(std::stop_token stop, std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    ready_.wait_for(lock, stop, patience, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item{std::move(items_.front())};
    items_.pop_front();
    return item;
  }

  std::uint64_t dropped() const {
    const std::lock_guard lock{mutex_};
    return dropped_;
  }

  std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any ready_;
  std::deque<T> items_;
  std::uint64_t dropped_ = 0;
};

}  // namespace clrscope
