// Bytes that a server may hold at the same time, over all who hold some. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace clrscope::fleet {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t most) : most_(most) {}

  // Gives the bytes back when it ends.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (budget_ != nullptr) budget_->used_ -= bytes_;
    }

   private:
    friend class ByteBudget;
    Lease(ByteBudget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {}
    ByteBudget* budget_;
    const std::uint64_t bytes_;
  };

  // Nothing: there is no room. One that is larger than all of it gets it while nobody else has
  // some.
  std::optional<Lease> take(std::uint64_t bytes) {
    const auto before = used_.fetch_add(bytes);
    Lease lease{*this, bytes};
    if (before > 0 && before + bytes > most_) return std::nullopt;
    return lease;
  }
  std::uint64_t used() const { return used_; }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace clrscope::fleet
