// What our own V6 traces say about themselves so that damage shows: a checksum of the blocks
// written together, and what was damaged in the trace they were made from. Format:
// docs/formats/nettrace.md
#pragma once

#include <cstdint>
#include <string_view>

#include "base/checksum.h"
#include "nettrace/framing.h"

namespace clrscope::nettrace {

constexpr std::string_view kChecksProperty = "ClrscopeChecks";  // "1": the trace has such blocks
constexpr std::uint8_t kSourceTruncated = 1;
constexpr std::size_t kMaxSourceNotes = 20;

// The sum over some blocks, one after the other.
class BlockChecks {
 public:
  void add(BlockKind kind, Bytes content) {
    ByteWriter head;
    head.write(static_cast<std::uint32_t>(content.size()) | static_cast<std::uint32_t>(kind) << 24);
    sum_ = crc32_of(content, crc32_of(head.bytes(), sum_));
    ++blocks_;
  }
  std::uint32_t blocks() const { return blocks_; }
  std::uint32_t sum() const { return sum_; }

 private:
  std::uint32_t blocks_ = 0;
  std::uint32_t sum_ = 0;
};

}  // namespace clrscope::nettrace
