// How often an address has come with a wrong key lately. Bounded; not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/clock.h"

namespace clrscope::site {

class Failures {
 public:
  static constexpr std::size_t kMost = 20;             // of an address within kWindow
  static constexpr std::size_t kMostAddresses = 4096;  // beyond that the oldest is forgotten
  static constexpr std::chrono::minutes kWindow{1};

  // Notes one; true when there were too many.
  bool note(const std::string& address, TraceTime now);
  std::size_t addresses() const { return seen_.size(); }

 private:
  struct Seen {
    TraceTime since{};
    std::size_t count = 0;
  };
  std::map<std::string, Seen> seen_;
};

// "127.0.0.1:41234" without its port.
std::string host_part(const std::string& address);

}  // namespace clrscope::site
