#include "collect/eventpipe/flight_ring.h"

#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/temp_file.h"
#include "nettrace/framing.h"

namespace clrscope::collect {
namespace {

using nettrace::BlockKind;
using nettrace::Frame;

constexpr std::size_t kMagic = 8 + 4 + 20;  // "Nettrace", length, "!FastSerialization.1"

// Blocks are padded to their place in the stream. They are kept without their padding, and padded
// anew for another place: u32 length of the header, header, content, end tag.
void append_unpadded(std::vector<std::uint8_t>& out, Bytes object, const Frame& frame) {
  const auto put = [&](Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
  const std::uint32_t header = static_cast<std::uint32_t>(frame.header_size),
                      content = static_cast<std::uint32_t>(frame.content_size);
  ByteWriter sizes;
  sizes.write(header);
  sizes.write(content);
  put(sizes.bytes());
  put(object.first(frame.header_size));
  put(object.subspan(frame.content_begin, frame.content_size));
}

// The next kept object of `in`, padded for its new place.
Bytes next_padded(ByteReader& in, std::uint64_t offset, std::vector<std::uint8_t>& scratch) {
  const auto header = in.read<std::uint32_t>();
  const auto content = in.read<std::uint32_t>();
  const auto put = [&](Bytes bytes) { scratch.insert(scratch.end(), bytes.begin(), bytes.end()); };
  scratch.clear();
  put(in.take(header));
  ByteWriter size;
  size.write(content);
  put(size.bytes());
  scratch.resize(scratch.size() + ((0 - (offset + scratch.size())) & 3));
  put(in.take(content));
  scratch.push_back(nettrace::kEndObjectTag);
  return scratch;
}

// An event block says when its last event was.
std::int64_t newest_in(Bytes content) {
  ByteReader in{content};
  in.skip(4);
  (void)in.read<std::int64_t>();
  return in.read<std::int64_t>();
}

Result<> replay_objects(Bytes kept, std::uint64_t& offset,
                        const std::function<Result<>(Bytes)>& take) {
  std::vector<std::uint8_t> scratch;
  ByteReader in{kept};
  while (!in.at_end()) {
    const auto object = next_padded(in, offset, scratch);
    if (!in.ok()) return fail(Errc::kCorrupt, "a buffered block is truncated");
    offset += object.size();
    TRY(take(object));
  }
  return {};
}

}  // namespace

Result<> FlightRing::add(Bytes blocks) {
  if (offset_ == 0) {
    if (blocks.size() < kMagic)
      return fail(Errc::kCorrupt, "the stream does not begin like a trace");
    start_.assign(blocks.begin(), blocks.begin() + kMagic);
    blocks = blocks.subspan(kMagic);
    offset_ = kMagic;
  }
  while (!blocks.empty()) {
    const auto frame = nettrace::next_object(blocks, offset_, false);
    if (frame.status != Frame::Status::kBlock)
      return fail(Errc::kCorrupt, "no complete block at byte {} of the stream", offset_);
    const auto object = blocks.first(frame.size);
    const auto content = object.subspan(frame.content_begin, frame.content_size);
    if (frame.kind == BlockKind::kTrace) {
      start_.insert(start_.end(), object.begin(), object.end());
    } else if (frame.kind == BlockKind::kMetadata) {
      append_unpadded(metadata_, object, frame);
    } else if (frame.kind != BlockKind::kEnd) {
      std::vector<std::uint8_t> kept;
      append_unpadded(kept, object, frame);
      TRY(keep(kept, frame.kind == BlockKind::kEvent ? newest_in(content) : 0));
      if (frame.kind == BlockKind::kSequencePoint) {
        stretches_.emplace_back();
        drop_old();
      }
    }
    offset_ += frame.size;
    blocks = blocks.subspan(frame.size);
  }
  return {};
}

Result<> FlightRing::keep(Bytes object, std::int64_t newest) {
  if (stretches_.empty()) stretches_.emplace_back();
  auto& stretch = stretches_.back();
  if (!stretch.file) stretch.file = TRY(open_temp_file(folder_));
  TRY(write_all(stretch.file.get(), object));
  stretch.bytes += object.size();
  stretch.newest = std::max(stretch.newest, newest);
  newest_ = std::max(newest_, newest);
  return {};
}

void FlightRing::drop_old() {
  if (frozen_) return;
  const auto oldest_wanted = newest_ - window_.count();
  while (stretches_.size() > 1 && stretches_.front().newest < oldest_wanted) stretches_.pop_front();
}

std::uint64_t FlightRing::held_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& stretch : stretches_) sum += stretch.bytes;
  return sum;
}

Result<> FlightRing::replay(const std::function<Result<>(Bytes)>& take) const {
  if (start_.empty()) return fail(Errc::kCorrupt, "nothing was recorded");
  TRY(take(start_));
  auto offset = static_cast<std::uint64_t>(start_.size());
  TRY(replay_objects(metadata_, offset, take));
  for (const auto& stretch : stretches_) {
    std::vector<std::uint8_t> kept(stretch.bytes);
    for (std::size_t filled = 0; filled < kept.size();) {
      const auto got = ::pread(stretch.file.get(), kept.data() + filled, kept.size() - filled,
                               static_cast<off_t>(filled));
      if (got <= 0) return fail(Errc::kSystem, "cannot read the buffered data: {}", errno_text());
      filled += static_cast<std::size_t>(got);
    }
    TRY(replay_objects(kept, offset, take));
  }
  const std::uint8_t end[] = {nettrace::kNullTag};
  return take(end);
}

}  // namespace clrscope::collect
