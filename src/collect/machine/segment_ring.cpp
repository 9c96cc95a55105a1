#include "collect/machine/segment_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/temp_file.h"
#include "collect/eventpipe/rewrite.h"
#include "nettrace/framing.h"

namespace clrscope::collect {
namespace {

using nettrace::BlockKind;

constexpr std::size_t kHead = 20;  // "Nettrace", 0, major and minor version
constexpr std::size_t kChunk = 256 << 10;

// An event block says when its last event was.
std::int64_t newest_in(Bytes content) {
  ByteReader in{content};
  in.skip(4);
  (void)in.read<std::int64_t>();
  return in.read<std::int64_t>();
}

// From `begin` to `end` of the file, piece by piece.
Result<> read_back(int file, std::uint64_t begin, std::uint64_t end,
                   const std::function<Result<>(Bytes)>& take) {
  std::vector<std::uint8_t> chunk(std::min<std::uint64_t>(kChunk, end - begin));
  while (begin < end) {
    const auto got = ::pread(file, chunk.data(), std::min<std::uint64_t>(chunk.size(), end - begin),
                             static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail(Errc::kSystem, "cannot read the buffered data: {}", errno_text());
    TRY(take(Bytes{chunk}.first(static_cast<std::size_t>(got))));
    begin += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

SegmentRing::~SegmentRing() {
  if (mapped_) ::munmap(mapped_, names_file_.bytes);
}

Result<> SegmentRing::append(Kept& kept, Bytes bytes) {
  if (!kept.file) kept.file = TRY(open_temp_file(folder_));
  TRY(write_all(kept.file.get(), bytes));
  kept.bytes += bytes.size();
  return {};
}

Result<> SegmentRing::add(Bytes blocks) {
  if (start_.empty()) {
    if (blocks.size() < kHead)
      return fail(Errc::kCorrupt, "the stream does not begin like a trace");
    start_.assign(blocks.begin(), blocks.begin() + kHead);
    blocks = blocks.subspan(kHead);
  }
  while (!blocks.empty()) {
    ByteReader in{blocks};
    const auto head = in.read<std::uint32_t>();
    const auto content = in.take(head & 0xffffff);
    if (!in.ok()) return fail(Errc::kCorrupt, "a block of the trace is truncated");
    const auto block = blocks.first(4 + content.size());
    blocks = blocks.subspan(block.size());
    const auto kind = static_cast<BlockKind>(head >> 24);
    if (kind == BlockKind::kTrace) {
      start_.insert(start_.end(), block.begin(), block.end());
    } else if (kind == BlockKind::kMetadata || kind == BlockKind::kThread) {
      TRY(append(ids_, block));
    } else if (kind != BlockKind::kEnd && kind != BlockKind::kCheck) {  // blocks part here
      if (segments_.empty()) segments_.emplace_back();
      auto& segment = segments_.back();
      TRY(append(segment.kept, block));
      if (kind == BlockKind::kEvent)
        newest_ = std::max(newest_, segment.newest = std::max(segment.newest, newest_in(content)));
      if (kind == BlockKind::kSequencePoint) {
        segments_.emplace_back();
        TRY(drop_old());
      }
    }
  }
  return {};
}

Result<> SegmentRing::drop_old() {
  while (!frozen_ && segments_.size() > 1 && segments_.front().newest < newest_ - window_.count()) {
    TRY(keep_names_of(segments_.front()));
    segments_.pop_front();
  }
  return {};
}

Result<> SegmentRing::keep_names_of(const Segment& segment) {
  if (!names_) {
    names_ = std::make_unique<nettrace::Converter>(
        [this](Bytes bytes) { return append(names_file_, bytes); }, names_something);
    TRY(names_->feed(start_));
  }
  const auto feed = [this](Bytes bytes) { return names_->feed(bytes); };
  if (ids_.bytes > ids_seen_) TRY(read_back(ids_.file.get(), ids_seen_, ids_.bytes, feed));
  ids_seen_ = ids_.bytes;
  if (segment.kept.bytes == 0) return {};
  return read_back(segment.kept.file.get(), 0, segment.kept.bytes, feed);
}

Result<Bytes> SegmentRing::names() {
  if (!names_) return Bytes{};
  TRY(names_->finish());
  if (names_file_.bytes == 0) return Bytes{};
  mapped_ = ::mmap(nullptr, names_file_.bytes, PROT_READ, MAP_SHARED, names_file_.file.get(), 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    return fail(Errc::kSystem, "cannot read the buffered data: {}", errno_text());
  }
  return Bytes{static_cast<const std::uint8_t*>(mapped_), names_file_.bytes};
}

Result<> SegmentRing::replay(const std::function<Result<>(Bytes)>& take) const {
  if (start_.empty()) return fail(Errc::kCorrupt, "nothing was recorded");
  TRY(take(start_));
  if (ids_.bytes > 0) TRY(read_back(ids_.file.get(), 0, ids_.bytes, take));
  for (const auto& segment : segments_)
    if (segment.kept.bytes > 0)
      TRY(read_back(segment.kept.file.get(), 0, segment.kept.bytes, take));
  const std::uint8_t end[4] = {};
  return take(end);
}

std::uint64_t SegmentRing::held_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& segment : segments_) sum += segment.kept.bytes;
  return sum;
}

}  // namespace clrscope::collect
