// A file mapped for reading that may be cut short meanwhile.
//
// Pages beyond the new end of a file raise SIGBUS, which would end the process. Here they read as
// zeros: a handler of the process puts an empty page in their place. SIGBUS at any other address
// goes to the handler that was there before. The contents may change while they are read: check
// what was read, not what was there a moment ago.
#pragma once

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

class GuardedMapping {
 public:
  // `fd` is lent. `size` must not be 0.
  static Result<GuardedMapping> of(int fd, std::size_t size);

  GuardedMapping() = default;
  GuardedMapping(GuardedMapping&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), slot_(other.slot_) {}
  GuardedMapping& operator=(GuardedMapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(slot_, other.slot_);
    return *this;
  }
  GuardedMapping(const GuardedMapping&) = delete;
  GuardedMapping& operator=(const GuardedMapping&) = delete;
  ~GuardedMapping();

  Bytes bytes() const { return bytes_; }
  // Its pages go back to the system, and come again when they are read.
  void rest() const;

 private:
  GuardedMapping(Bytes bytes, std::size_t slot) : bytes_(bytes), slot_(slot) {}
  Bytes bytes_{};
  std::size_t slot_ = 0;
};

}  // namespace clrscope
