#include "uplink/frame.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/result.h"

namespace clrscope::uplink {
namespace {

constexpr std::string_view kFrameMagic = "CLRF";
constexpr std::uint8_t kFrameVersion = 1;

struct FrameHead {
  std::uint8_t version = 0;
  std::uint8_t kind = 0;
  std::uint32_t length = 0;
  std::uint32_t checksum = 0;
};

FrameHead read_head(std::string_view bytes) {
  ByteReader in{as_bytes(bytes.substr(kFrameMagic.size()))};
  FrameHead head{.version = in.read<std::uint8_t>(), .kind = in.read<std::uint8_t>()};
  in.skip(2);
  head.length = in.read<std::uint32_t>();
  head.checksum = in.read<std::uint32_t>();
  return head;
}

std::uint32_t frame_checksum(std::string_view header, std::string_view payload) {
  const auto sum = crc32_of(as_bytes(header.substr(kFrameMagic.size(), 8)));
  return payload.empty() ? sum : crc32_of(as_bytes(payload), sum);  // of no bytes at no address: 0
}

}  // namespace

std::string frame_of(FrameKind kind, std::string_view payload) {
  CHECK(payload.size() <= kLongestFrame);
  ByteWriter out;
  out.put(kFrameMagic);
  out.write(kFrameVersion);
  out.write(static_cast<std::uint8_t>(kind));
  out.write(std::uint16_t{0});
  out.write(static_cast<std::uint32_t>(payload.size()));
  std::string bytes{as_text(out.bytes())};
  ByteWriter sum;
  sum.write(frame_checksum(bytes, payload));
  bytes += as_text(sum.bytes());
  return bytes.append(payload);
}

// On to the next place that may begin a frame.
void FrameReader::skip() {
  if (!lost_) ++damaged_;
  lost_ = true;
  const auto found = buffer_.find(kFrameMagic, at_ + 1);
  // The end may hold the beginning of a magic.
  at_ = found != std::string::npos
            ? found
            : std::max(at_ + 1, buffer_.size() - std::min(buffer_.size(), kFrameMagic.size() - 1));
}

std::optional<Frame> FrameReader::next() {
  constexpr std::size_t kUsedUp = 64 << 10;
  for (;;) {
    if (at_ >= kUsedUp || at_ == buffer_.size()) {
      buffer_.erase(0, at_);
      at_ = 0;
    }
    const auto rest = std::string_view{buffer_}.substr(at_);
    if (!rest.substr(0, kFrameMagic.size()).starts_with(kFrameMagic.substr(0, rest.size()))) {
      skip();
      continue;
    }
    if (rest.size() < kFrameHeader) return {};
    const auto head = read_head(rest);
    if (head.length > kLongestFrame || head.version != kFrameVersion) {
      skip();
      continue;
    }
    if (rest.size() < kFrameHeader + head.length) return {};
    const auto payload = rest.substr(kFrameHeader, head.length);
    if (head.checksum != frame_checksum(rest, payload)) {
      skip();
      continue;
    }
    lost_ = false;
    Frame frame{static_cast<FrameKind>(head.kind), std::string{payload}};
    at_ += kFrameHeader + head.length;
    if (frame.kind == FrameKind::kBatch || frame.kind == FrameKind::kEnd ||
        frame.kind == FrameKind::kState)
      return frame;
  }
}

}  // namespace clrscope::uplink
