// The two functions that instrumented methods call, and the counters they write.
//
// Both are leaves that run in the middle of managed code: no lock, no call, no memory but what is
// mapped already. A thread is known by its thread pointer, so there is nothing to set up or free
// when threads begin and end. The counters lie in memory that clrscope shares.
#pragma once

#include "wire/probes.h"

namespace clrscope::agent {

class ProbeTable {
 public:
  constexpr ProbeTable() = default;

  // Makes the shared memory; true when it is there, also from an earlier time.
  bool open();
  int fd() const { return fd_; }
  wire::Probes* shared() { return shared_; }

  // Forgets all counts; calls that are running are not counted when they end.
  void reset(std::uint32_t counters);
  void switch_on();
  void switch_off();
  static bool is_on();

  // Calls that began and that ended, sum over all threads.
  std::uint64_t enters(std::uint32_t counter) const;
  std::uint64_t leaves(std::uint32_t counter) const;

 private:
  wire::Probes* shared_ = nullptr;
  int fd_ = -1;
};

// For the rewriter: see il/rewrite.h.
std::uint64_t probe_gate_address();
std::uint64_t probe_enter_address();
std::uint64_t probe_leave_address();

// What the instrumented code calls.
std::int64_t probe_enter(std::int32_t id, std::uint64_t* saved);
void probe_leave(std::int32_t id, std::int64_t start, std::uint64_t saved);

}  // namespace clrscope::agent
