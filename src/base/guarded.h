// A value and its lock in one object: the value cannot be touched without the lock.
#pragma once

#include <mutex>
#include <utility>

namespace clrscope {

template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  template <class F>
  decltype(auto) with(F&& use) {
    const std::lock_guard lock{mutex_};
    return std::forward<F>(use)(value_);
  }

  template <class F>
  decltype(auto) with(F&& use) const {
    const std::lock_guard lock{mutex_};
    return std::forward<F>(use)(value_);
  }

 private:
  mutable std::mutex mutex_;
  T value_{};
};

}  // namespace clrscope
