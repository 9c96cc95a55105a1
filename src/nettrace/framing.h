// Where the blocks of a trace begin and end. Knows nothing of what is in them.
//
// V3 to V5 wrap each block in a tagged object with a name, V6 has a size and a kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace clrscope::nettrace {

enum class BlockKind : std::uint8_t {
  kEnd = 0,
  kTrace = 1,
  kEvent = 2,
  kMetadata = 3,
  kSequencePoint = 4,
  kStack = 5,
  kThread = 6,
  kRemoveThread = 7,
  kLabelList = 8,
  // Ours, which others step over.
  kCheck = 0xc5,   // what the blocks since the last one, or the start, must add up to
  kSource = 0xc6,  // what could not be read of the trace that this one was made from
};
constexpr std::size_t kCheckSize = 8;

// Tags of V3 to V5.
constexpr std::uint8_t kNullTag = 1;  // also ends the trace
constexpr std::uint8_t kEndObjectTag = 6;

constexpr std::size_t kMaxBlock = 16 << 20;  // V6 cannot say more; runtimes write 100 KB

struct Frame {
  enum class Status { kBlock, kNeedMore, kDamaged };
  Status status = Status::kNeedMore;
  BlockKind kind = BlockKind::kEnd;
  std::uint32_t version = 0;      // of a V3 to V5 object
  std::size_t header_size = 0;    // of a V3 to V5 object: its tags and name
  std::size_t content_begin = 0;  // from the frame's start
  std::size_t content_size = 0;   // also of a block that is not all there; 0 when not known
  std::size_t size = 0;           // of the whole frame, or how much of a damaged one to step over
  std::size_t need = 0;           // bytes needed to go on
  std::string what{};             // of damage
};

// The frame at the start of `in`, which lies at `offset` in the trace (blocks are aligned to it).
Frame next_object(Bytes in, std::uint64_t offset, bool netperf);
Frame next_v6_block(Bytes in);

// Where the next whole object header begins; none when there is none in `in`.
std::optional<std::size_t> find_object(Bytes in, bool netperf);
// V6 has no marks to look for but the fixed start of an event block, which serves.
std::optional<std::size_t> find_v6_block(Bytes in);
constexpr std::size_t kMaxBlockStart = 64;  // a match is never longer

}  // namespace clrscope::nettrace
