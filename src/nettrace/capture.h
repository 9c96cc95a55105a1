// Who wrote the events, and how many of theirs are missing.
//
// Each capture thread numbers its events; a jump is a loss. A sequence point says the number each
// had reached, so that a loss at the end shows too. Before V6 a thread is known from its first
// event on, what it lost before cannot be seen, and a number that falls back means that the id was
// used again.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nettrace/reader.h"

namespace clrscope::nettrace {

struct Sequence {
  bool known = false;
  std::uint32_t last = 0;

  // The number of events lost before number `next`, which was seen.
  std::uint32_t step(std::uint32_t next, bool from_zero) {
    return reach(next - 1, next, from_zero);
  }
  // The number of events lost up to number `reached`, which need not have been seen.
  std::uint32_t checkpoint(std::uint32_t reached, bool from_zero) {
    return reach(reached, reached, from_zero);
  }

 private:
  std::uint32_t reach(std::uint32_t expected, std::uint32_t now, bool from_zero) {
    const bool counts = from_zero || (known && last != 0);
    const auto gap = static_cast<std::int32_t>(expected - last);
    known = true;
    last = now;
    return counts && gap > 0 ? static_cast<std::uint32_t>(gap) : 0;
  }
};

class CaptureTable {
 public:
  struct Entry {
    Sequence sequence;
    std::uint64_t id = 0;
    ProcessId process{};
    ThreadId thread{};
    std::uint64_t events = 0;
    std::uint64_t lost = 0;
  };

  // The entry lives until the next call of get() with another id, forget() or forget_all().
  Entry& get(std::uint64_t id);
  Entry* find(std::uint64_t id);
  void forget(std::uint64_t id);
  void forget_all();
  std::vector<CaptureThread> list() const;

 private:
  void keep(const Entry& entry);
  void make_room();

  std::unordered_map<std::uint64_t, Entry> entries_;
  Entry* last_ = nullptr;
  std::vector<CaptureThread> gone_;  // those whose id may mean another thread now
};

}  // namespace clrscope::nettrace
