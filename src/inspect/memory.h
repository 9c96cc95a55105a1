// The memory of a process that is looked at from outside, whatever it is: live, a frozen twin, a
// core.
//
// Everything read here is the target's and may be garbage: a reader checks what it reads and says
// "unknown" where it makes no sense. A Memory belongs to one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::inspect {

class MemorySource {
 public:
  virtual ~MemorySource() = default;
  // How many bytes from `address` on could be read into `out`: all, fewer, or none.
  virtual std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) = 0;
  // A descriptor that gives the same bytes by pread() at the address; -1 when there is none. For
  // lending to a process that may read nothing else; lives as long as the source.
  virtual int descriptor() const { return -1; }
};

// /proc/PID/mem of a process that goes on running. Needs the right to trace it.
Result<std::unique_ptr<MemorySource>> open_live_memory(pid_t pid);

// Reads through a cache of pages, so that many small reads cost few calls.
class Memory {
 public:
  explicit Memory(MemorySource& source) : source_(source) {}

  // All of `out`, or false.
  bool read(std::uint64_t address, std::span<std::uint8_t> out);
  template <class T>
  requires std::is_trivially_copyable_v<T> std::optional<T> get(std::uint64_t address) {
    T value{};
    if (!read(address, {reinterpret_cast<std::uint8_t*>(&value), sizeof value})) return {};
    return value;
  }
  std::optional<std::uint64_t> pointer(std::uint64_t address) {
    return get<std::uint64_t>(address);
  }
  // `size` bytes, read past the cache: for what is large and read once. Empty when unreadable.
  std::vector<std::uint8_t> block(std::uint64_t address, std::size_t size);
  // Up to the zero, at most `most` bytes; empty when it is longer or unreadable.
  std::string text(std::uint64_t address, std::size_t most = 4096);
  // `length` UTF-16 units as UTF-8.
  std::string text16(std::uint64_t address, std::size_t length);

  // The target went on: what was read may no longer be so.
  void forget() { pages_.clear(); }

  std::uint64_t pages_read() const { return pages_read_; }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kMostPages = 16384;  // 64 MB

  // The readable part of a page from its start on; empty when there is none.
  Bytes page_at(std::uint64_t address);

  MemorySource& source_;
  std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> pages_;
  std::uint64_t pages_read_ = 0;
};

}  // namespace clrscope::inspect
