// The registers of an x86-64 thread as perf numbers them.
#pragma once

#include <cstdint>

namespace clrscope::collect::perf::x64 {

enum Register : unsigned {
  kRax = 0,
  kRbx = 1,
  kRcx = 2,
  kRdx = 3,
  kRsi = 4,
  kRdi = 5,
  kRbp = 6,
  kRsp = 7,
  kRip = 8,
  kFlags = 9,
  kR8 = 16,
  kR9 = 17,
  kR10 = 18,
  kR11 = 19,
  kR12 = 20,
  kR13 = 21,
  kR14 = 22,
  kR15 = 23,
};

// What unwinding may need: everything but flags and segments.
inline constexpr std::uint64_t kGeneralRegisters = 0xff01ff;

}  // namespace clrscope::collect::perf::x64
