#include "nettrace/framing.h"

#include <fmt/core.h>

#include <cstring>
#include <string_view>

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kTraceSize = 48;

constexpr std::uint8_t begin_tag(bool netperf) { return netperf ? 4 : 5; }

struct Name {
  std::string_view text;
  BlockKind kind;
};
constexpr Name kNames[] = {
    {"EventBlock", BlockKind::kEvent},
    {"StackBlock", BlockKind::kStack},
    {"MetadataBlock", BlockKind::kMetadata},
    {"SPBlock", BlockKind::kSequencePoint},
    {"Trace", BlockKind::kTrace},
    {"Microsoft.DotNet.Runtime.EventPipeFile", BlockKind::kTrace},
};

constexpr int kMostUnknown = 4;  // blocks of unknown kinds in a row

enum class Match { kYes, kNo, kCutShort };

struct ObjectHeader {
  BlockKind kind = BlockKind::kEnd;
  std::uint32_t version = 0;
  std::size_t size = 0;
};

// begin, begin, null, i32 version, i32 minimum reader, i32 length, name, end of type
Match match_header(Bytes in, bool netperf, ObjectHeader& out) {
  const std::uint8_t tags[] = {begin_tag(netperf), begin_tag(netperf), kNullTag};
  for (std::size_t i = 0; i < 3; ++i) {
    if (i >= in.size()) return Match::kCutShort;
    if (in[i] != tags[i]) return Match::kNo;
  }
  ByteReader reader{in.subspan(3)};
  out.version = reader.read<std::uint32_t>();
  (void)reader.read<std::uint32_t>();
  const auto length = reader.read<std::uint32_t>();
  if (!reader.ok()) return Match::kCutShort;
  for (const auto& name : kNames) {
    if (name.text.size() != length) continue;
    const auto text = reader.take(length);
    const auto tag = reader.read<std::uint8_t>();
    if (!reader.ok()) return Match::kCutShort;
    if (as_text(text) != name.text || tag != kEndObjectTag) {
      reader = ByteReader{in.subspan(15)};
      continue;
    }
    out.kind = name.kind;
    out.size = 16 + length;
    return Match::kYes;
  }
  return Match::kNo;
}

Frame damaged(std::string what, std::size_t step) {
  Frame frame;
  frame.status = Frame::Status::kDamaged;
  frame.what = std::move(what);
  frame.size = step;
  return frame;
}

}  // namespace

Frame next_object(Bytes in, std::uint64_t offset, bool netperf) {
  Frame frame;
  frame.need = 1;
  if (in.empty()) return frame;
  if (in[0] == kNullTag) {
    frame.status = Frame::Status::kBlock;
    frame.size = 1;
    return frame;
  }
  ObjectHeader header;
  switch (match_header(in, netperf, header)) {
    case Match::kCutShort:
      frame.need = in.size() + 1;
      return frame;
    case Match::kNo:
      return damaged("no block begins here", 1);
    case Match::kYes:
      break;
  }
  frame.kind = header.kind;
  frame.version = header.version;
  frame.header_size = header.size;
  if (header.kind == BlockKind::kTrace && header.version < 3) {
    frame.status = Frame::Status::kBlock;  // of another layout: its version is all that is known
    frame.content_begin = frame.size = header.size;
    return frame;
  }
  if (header.kind == BlockKind::kTrace) {
    frame.content_begin = header.size;
    frame.content_size = kTraceSize;
  } else {
    frame.need = header.size + 4;
    if (in.size() < frame.need) return frame;
    const auto size = ByteReader{in.subspan(header.size)}.read<std::uint32_t>();
    if (size > kMaxBlock) return damaged(fmt::format("a block claims {} bytes", size), header.size);
    const auto padding = (0 - (offset + header.size + 4)) & 3;
    frame.content_begin = header.size + 4 + padding;
    frame.content_size = size;
  }
  frame.size = frame.content_begin + frame.content_size + 1;
  frame.need = frame.size;
  if (in.size() < frame.size) return frame;
  if (in[frame.size - 1] != kEndObjectTag)
    return damaged(
        fmt::format("a block of {} bytes does not end where it says", frame.content_size),
        header.size);
  frame.status = Frame::Status::kBlock;
  return frame;
}

namespace {

struct V6Header {
  explicit V6Header(Bytes in)
      : word(ByteReader{in}.read<std::uint32_t>()),
        kind(static_cast<BlockKind>(word >> 24)),
        size(4 + (word & 0xffffff)) {}
  bool known() const {
    return kind <= BlockKind::kLabelList || kind == BlockKind::kCheck || kind == BlockKind::kSource;
  }
  // As far as the header can tell.
  bool sound() const {
    if (kind == BlockKind::kEnd) return size == 4;
    if (kind == BlockKind::kCheck) return size == 4 + kCheckSize;
    return kind != BlockKind::kTrace;
  }
  std::uint32_t word;
  BlockKind kind;
  std::size_t size;
};

// Kinds of later versions are stepped over by their size. What is damaged looks like one too: it is
// told by what lies where it would end. Nothing: that is not here yet, `need` bytes have it.
std::optional<bool> leads_to_known_block(Bytes in, std::size_t& need) {
  std::size_t at = 0;
  for (int i = 0; i <= kMostUnknown; ++i) {
    need = at + 4;
    if (in.size() < need) return std::nullopt;
    const V6Header header{in.subspan(at)};
    if (header.known()) return header.sound();
    at += header.size;
  }
  return false;
}

}  // namespace

Frame next_v6_block(Bytes in) {
  Frame frame;
  frame.need = 4;
  if (in.size() < 4) return frame;
  const V6Header header{in};
  frame.kind = header.kind;
  frame.content_begin = 4;
  frame.content_size = header.size - 4;
  frame.size = header.size;
  frame.need = frame.size;
  if (!header.known()) {
    const auto leads = leads_to_known_block(in, frame.need);
    if (!leads) return frame;
    if (!*leads)
      return damaged(fmt::format("no block begins here (kind {})", header.word >> 24), 1);
  }
  if (in.size() >= frame.size) frame.status = Frame::Status::kBlock;
  return frame;
}

std::optional<std::size_t> find_object(Bytes in, bool netperf) {
  const auto* at = in.data();
  const auto* const end = at + in.size();
  while (at < end) {
    at = static_cast<const std::uint8_t*>(
        std::memchr(at, begin_tag(netperf), static_cast<std::size_t>(end - at)));
    if (!at) return std::nullopt;
    ObjectHeader header;
    const auto offset = static_cast<std::size_t>(at - in.data());
    if (match_header(in.subspan(offset), netperf, header) == Match::kYes) return offset;
    ++at;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_v6_block(Bytes in) {
  static constexpr std::uint8_t kStart[] = {2, 20, 0, 1, 0};  // kind, header size, packed rows
  static constexpr std::size_t kHeader = 4 + 20;
  for (std::size_t from = 3; from < in.size();) {
    const auto* hit = static_cast<const std::uint8_t*>(
        memmem(in.data() + from, in.size() - from, kStart, sizeof kStart));
    if (!hit) return std::nullopt;
    const auto offset = static_cast<std::size_t>(hit - in.data()) - 3;
    ByteReader reader{in.subspan(offset)};
    const auto size = reader.read<std::uint32_t>() & 0xffffff;
    (void)reader.read<std::uint32_t>();
    const auto first = reader.read<std::uint64_t>();
    const auto last = reader.read<std::uint64_t>();
    if (reader.ok() && size + 4 >= kHeader && first <= last) return offset;
    from = offset + 4;
  }
  return std::nullopt;
}

}  // namespace clrscope::nettrace
