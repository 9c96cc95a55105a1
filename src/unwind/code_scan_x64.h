// Where the caller is, told by the instructions that lie ahead.
//
// Code without unwind rows can be caught where rbp does not yet, or no longer, name its frame: in a
// prologue, in an epilogue, or in a leaf that has no frame. From there the instructions ahead
// either build the frame or return, and what they do to rsp says where the return address is.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace clrscope::unwind {

struct CallerPlace {
  enum class How : std::uint8_t {
    kUnknown,  // nothing certain: rbp is the best guess
    kFound,
  };
  enum class Rbp : std::uint8_t { kSame, kAtOffset };
  How how = How::kUnknown;
  std::int64_t return_offset = 0;  // of the return address, from rsp
  Rbp rbp = Rbp::kSame;            // the caller's: still in the register, or in memory
  std::int64_t rbp_offset = 0;     // from rsp
};

// The size of the instruction at the front of `code`; 0 when it is cut short or unknown.
std::size_t instruction_size(Bytes code);

// Follows the instructions of `code`, whose first is the one about to run. Jumps are followed
// inside of `code` only.
CallerPlace scan_ahead(Bytes code);

// The same, but only when nothing except an epilogue lies ahead: for code whose unwind rows do not
// speak of epilogues.
CallerPlace scan_epilogue(Bytes code);

}  // namespace clrscope::unwind
