// Frames between clrscope and the relay (clrscope-fleet relay), over a pipe or a unix socket.
//
//   frame:  magic u32 "CLRF", version u8 = 1, kind u8, 0 u16, length u32, checksum u32; payload
//
// All little-endian; the checksum is the CRC-32 of the 8 bytes before it and of the payload. After
// damage the reader looks for the next whole frame and counts what it skipped. No I/O. Format:
// docs/formats/fleet.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace clrscope::uplink {

enum class FrameKind : std::uint8_t {
  kBatch = 1,  // a clrscope.fleet.v1.RequestBatch
  kEnd = 2,    // nothing follows: deliver what is there, then end
  kState = 3,  // which process this is and which configuration it has, as JSON
};

inline constexpr std::size_t kFrameHeader = 16;
inline constexpr std::size_t kLongestFrame = 8 << 20;  // payload

struct Frame {
  FrameKind kind{};
  std::string payload{};
};

std::string frame_of(FrameKind kind, std::string_view payload);

class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame; nothing: more bytes are needed. Frames of kinds that we do not know are
  // skipped.
  std::optional<Frame> next();

  std::uint64_t damaged() const { return damaged_; }            // places where bytes were skipped
  std::size_t waiting() const { return buffer_.size() - at_; }  // bytes of an unfinished frame

 private:
  void skip();

  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t damaged_ = 0;
  bool lost_ = false;  // inside a damaged place: counted already
};

}  // namespace clrscope::uplink
