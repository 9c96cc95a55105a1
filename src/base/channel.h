// A bounded queue between one owner and another. The producer does not wait unless it says so: what
// does not fit is dropped and counted. Bounded in items, and in their weight where they have one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace clrscope {

template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity, std::size_t max_weight = ~std::size_t{0})
      : capacity_(capacity), max_weight_(max_weight) {}

  // Any thread. False when the channel is full: the item is dropped and counted.
  bool try_push(T item, std::size_t weight = 0) {
    return push_within(std::chrono::nanoseconds::zero(), item, weight, true);
  }

  // Waits so long for room. False when there was none: the item is still the caller's.
  bool push_for(std::chrono::nanoseconds patience, T& item, std::size_t weight = 0) {
    return push_within(patience, item, weight, false);
  }

  // Also when it is full: for the few that must not be missing.
  void push_anyway(T item) {
    {
      const std::lock_guard lock{mutex_};
      items_.emplace_back(std::move(item), 0);
    }
    ready_.notify_one();
  }

  // Waits for an item. After a stop it drains what is queued, then returns nothing.
  std::optional<T> pop(std::stop_token stop) {
    std::unique_lock lock{mutex_};
    ready_.wait(lock, stop, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    return take_first();
  }

  // The same, but gives up after `patience`.
  std::optional<T> pop_for(std::stop_token stop, std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    ready_.wait_for(lock, stop, patience, [&] { return !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    return take_first();
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
  bool fits(std::size_t weight) const {
    return items_.empty() || (items_.size() < capacity_ && weight_ + weight <= max_weight_);
  }

  bool push_within(std::chrono::nanoseconds patience, T& item, std::size_t weight, bool count) {
    {
      std::unique_lock lock{mutex_};
      if (!fits(weight) && patience > patience.zero())
        room_.wait_for(lock, patience, [&] { return fits(weight); });
      if (!fits(weight)) {
        if (count) ++dropped_;
        return false;
      }
      weight_ += weight;
      items_.emplace_back(std::move(item), weight);
    }
    ready_.notify_one();
    return true;
  }

  T take_first() {
    T item{std::move(items_.front().first)};
    weight_ -= items_.front().second;
    items_.pop_front();
    room_.notify_one();
    return item;
  }

  const std::size_t capacity_;
  const std::size_t max_weight_;
  mutable std::mutex mutex_;
  std::condition_variable_any ready_;
  std::condition_variable room_;
  std::deque<std::pair<T, std::size_t>> items_;
  std::size_t weight_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace clrscope
