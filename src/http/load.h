// What a request costs the server, for limits.h. Every route names it (route.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace clrscope::http {

enum class Load : std::uint8_t {
  kLight,       // answered at once: not counted
  kRequest,     // takes a thread for a while
  kRecording,   // a trace: as long as its client wants
  kMemory,      // dumps and heaps: heavy for the process
  kStream,      // live, until its client leaves: long and light
  kConversion,  // reads a whole recording. Handlers enter it on top of kRequest, for that time only
  kHealth,      // as kLight, and answered when all connections are taken
};
inline constexpr std::size_t kLoads = 7;

// How many may be under way at a time. 0: any number.
struct Limit {
  std::string_view name;
  std::size_t all = 0;
  std::size_t one = 0;  // for one caller
};

}  // namespace clrscope::http
