// Memory of a target in large pieces, for what is read from one end to the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "inspect/memory.h"

namespace clrscope::inspect {

class Window {
 public:
  static constexpr std::size_t kBytes = 16 << 20;

  explicit Window(MemorySource& source, std::size_t most = kBytes) : source_(source), most_(most) {}

  // `size` bytes from `address` on, which end before `end`: what may be read ahead. Null when they
  // cannot be read, or are more than it holds. Lives until the next call.
  const std::uint8_t* at(std::uint64_t address, std::size_t size, std::uint64_t end) {
    if (address >= start_ && address - start_ + size <= bytes_)
      return buffer_.data() + (address - start_);
    if (size > most_ || end < address || end - address < size) return nullptr;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(most_, end - address));
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    start_ = address;
    bytes_ = source_.read(address, std::span{buffer_}.first(wanted));
    return bytes_ >= size ? buffer_.data() : nullptr;
  }

 private:
  MemorySource& source_;
  std::size_t most_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t start_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace clrscope::inspect
