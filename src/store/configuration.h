// How hosts shall profile, as the server keeps it: changes that follow each other, and what became
// of them. Data only; what the settings mean is known to fleet/.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace clrscope::store {

// Nothing is ever overwritten: the versions of a service are its history.
struct ConfigurationChange {
  std::string service{};
  std::uint64_t version = 0;  // from 1 on, of this service
  WallTime time{};
  std::string who{};
  std::string comment{};
  std::uint32_t percent = 100;  // of the hosts
  std::string settings{};       // text
};

// What one process says.
struct AgentState {
  std::string service{};
  std::string host{};
  std::string instance{};           // hexadecimal
  std::uint64_t configuration = 0;  // version that it has; 0: its own
  std::string trouble{};            // why it could not take a newer one
  WallTime time{};
};

}  // namespace clrscope::store
