#include "nettrace/reader.h"

#include "nettrace/impl.h"

namespace clrscope::nettrace {
namespace {

constexpr std::string_view kMagic = "Nettrace";
constexpr std::string_view kSerialization{"\x14\0\0\0!FastSerialization.1", 24};
constexpr std::size_t kMaxNotes = 100;
constexpr std::size_t kScanStep = 64 << 10;

// The two agree as far as both go.
bool begins_with(Bytes in, std::string_view text) {
  const auto common = std::min(in.size(), text.size());
  return as_text(in.first(common)) == text.substr(0, common);
}

Failure not_a_trace(Bytes in) {
  auto failure = fail(Errc::kCorrupt, "this is not a .nettrace file");
  if (in.size() >= 4 &&
      (as_text(in.first(4)) == "\x28\xb5\x2f\xfd" || as_text(in.first(2)) == "\x1f\x8b"))
    return std::move(failure).hint("it is compressed: decompress it first");
  return std::move(failure).hint(
      "give a trace of dotnet-trace, record-trace or clrscope; it begins with the word Nettrace");
}

// What failed once fails ever after.
Result<> remember(Result<> result, std::optional<Error>& error) {
  if (!result) error = result.error();
  return result;
}

}  // namespace

Reader::Reader() : impl_(std::make_unique<Impl>()) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

Result<> Reader::feed(Bytes chunk, const OnBatch& on_batch) { return impl_->feed(chunk, on_batch); }
Result<> Reader::finish(const OnBatch& on_batch) { return impl_->finish(on_batch); }
const TraceInfo* Reader::info() const { return impl_->has_info ? &impl_->info : nullptr; }
StackView Reader::stack(StackId id) const { return impl_->stack(id); }
std::size_t Reader::type_count() const { return impl_->types.size(); }
const EventType& Reader::type(std::size_t index) const { return impl_->types[index]; }
std::uint64_t Reader::whole_bytes() const { return impl_->whole_bytes(); }

const Summary& Reader::summary() const { return impl_->summary; }
std::span<const Damage> Reader::damage() const { return impl_->damage; }
std::vector<CaptureThread> Reader::loss() const { return impl_->captures.list(); }

std::size_t Reader::thread_count() const { return impl_->threads.size(); }

std::vector<ThreadInfo> Reader::threads() const {
  std::vector<ThreadInfo> out;
  for (const auto& [index, thread] : impl_->threads) out.push_back(thread);
  return out;
}

Result<> Reader::Impl::feed(Bytes chunk, const OnBatch& on_batch) {
  if (error_) return fail(*error_);
  summary.bytes += chunk.size();
  auto result = remember(feed_all(chunk, on_batch), error_);
  stacks_.own_all();
  labels_.own_all();
  return result;
}

// Whole blocks are read where they lie; only one that straddles two chunks is put together.
Result<> Reader::Impl::feed_all(Bytes chunk, const OnBatch& on_batch) {
  while (!chunk.empty()) {
    if (pending().empty()) {
      const auto used = TRY(process(chunk, true, on_batch));
      pending_.assign(chunk.begin() + static_cast<std::ptrdiff_t>(used), chunk.end());
      pending_begin_ = 0;
      return {};
    }
    const auto have = pending().size();
    const auto taken = chunk.first(std::min(std::max(need_, have + 1) - have, chunk.size()));
    pending_.insert(pending_.end(), taken.begin(), taken.end());
    chunk = chunk.subspan(taken.size());
    if (pending().size() < need_) continue;
    drop_pending(TRY(process(pending(), false, on_batch)));
  }
  return {};
}

// Moves what is left to the front only when that is less than what was dropped, so that hostile
// sizes cannot make us copy over and over.
void Reader::Impl::drop_pending(std::size_t count) {
  pending_begin_ += count;
  if (pending_begin_ * 2 < pending_.size()) return;
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(pending_begin_));
  pending_begin_ = 0;
}

// Reads the blocks that are whole and returns how many bytes they took.
Result<std::size_t> Reader::Impl::process(Bytes in, bool borrowed, const OnBatch& on_batch) {
  std::size_t used = 0;
  const auto take = [&](std::size_t count) {
    used += count;
    offset_ += count;
  };
  if (!started_) {
    take(TRY(read_magic(in)));
    if (!started_) return used;
  }
  while (true) {
    const auto rest = in.subspan(used);
    if (scanning_) {
      take(resynchronize(rest));
      if (scanning_) return used;
      continue;
    }
    const auto frame = next_frame(rest);
    if (frame.status == Frame::Status::kNeedMore) {
      need_ = frame.need;
      return used;
    }
    if (summary.ended) {
      note(offset_, "data after the end mark");
      summary.ended = false;
      if (!v6() && frame.status == Frame::Status::kBlock && frame.kind == BlockKind::kEnd)
        scanning_ = true;  // zeros or ones, not blocks
    }
    if (frame.status == Frame::Status::kDamaged) {
      if (!has_info)
        return fail(Errc::kCorrupt, "the header of the trace is damaged: {}", frame.what);
      note(offset_, frame.what);
      summary.skipped_bytes += frame.size;
      scanning_ = true;
    } else if (!scanning_) {
      TRY(read_block(frame,
                     {.content = rest.subspan(frame.content_begin, frame.content_size),
                      .offset = offset_ + frame.content_begin,
                      .borrowed = borrowed},
                     on_batch));
    }
    take(frame.size);
  }
}

Frame Reader::Impl::next_frame(Bytes in) const {
  return v6() ? next_v6_block(in) : next_object(in, offset_, netperf_);
}

Result<std::size_t> Reader::Impl::read_magic(Bytes in) {
  const bool nettrace = begins_with(in, kMagic);
  if (!nettrace && !begins_with(in, kSerialization)) return not_a_trace(in);
  const std::size_t begin = nettrace ? kMagic.size() : 0;
  need_ = begin + (nettrace ? 4 : kSerialization.size());
  if (in.size() < need_) return 0;

  ByteReader reader{in.subspan(begin)};
  if (const auto first = reader.read<std::uint32_t>(); first == 0) {
    need_ = begin + 12;
    const auto major = reader.read<std::uint32_t>();
    (void)reader.read<std::uint32_t>();
    if (in.size() < need_) return 0;
    if (major != 6)
      return fail(Errc::kUnsupported, "unknown version {} of the nettrace format", major)
          .hint("a newer clrscope may read it; this one reads versions 3 to 6");
    info.version = 6;
  } else {
    if (!begins_with(in.subspan(begin), kSerialization)) return not_a_trace(in);
    need_ = begin + kSerialization.size();
    if (in.size() < need_) return 0;
    netperf_ = !nettrace;
  }
  started_ = true;
  return need_;
}

// Steps to where a block may begin again; scanning_ stays set when that is not in sight.
std::size_t Reader::Impl::resynchronize(Bytes in) {
  const auto found = v6() ? find_v6_block(in) : find_object(in, netperf_);
  scanning_ = !found;
  const auto step = found ? *found : in.size() - std::min(in.size(), kMaxBlockStart);
  if (!found) need_ = in.size() - step + kScanStep;
  summary.skipped_bytes += step;
  return step;
}

Result<> Reader::Impl::read_block(const Frame& frame, const Block& block, const OnBatch& on_batch) {
  if (!has_info) {
    if (frame.kind != BlockKind::kTrace)
      return fail(Errc::kCorrupt, "the trace does not begin with its header");
    TRY(v6() ? read_trace_v6(block) : read_trace(block, frame.version));
    has_info = true;
    if (has_checks_) checks_.add(frame.kind, block.content);
    return {};
  }
  if (has_checks_ && frame.kind != BlockKind::kCheck) checks_.add(frame.kind, block.content);
  switch (frame.kind) {
    case BlockKind::kEnd:
      summary.ended = true;
      if (frame.content_size > 0) note(block.offset, "an end mark with content");
      break;
    case BlockKind::kTrace:
      note(block.offset, "a second trace header");
      break;
    case BlockKind::kEvent:
      info.version == 3 ? read_events_v3(block, on_batch) : read_events(block, on_batch);
      break;
    case BlockKind::kMetadata:
      v6() ? read_metadata_v6(block) : read_metadata(block);
      break;
    case BlockKind::kSequencePoint:
      read_sequence_point(block, on_batch);
      break;
    case BlockKind::kStack:
      read_stacks(block);
      break;
    case BlockKind::kThread:
      read_threads(block);
      break;
    case BlockKind::kRemoveThread:
      read_removed_threads(block);
      break;
    case BlockKind::kLabelList:
      read_labels(block);
      break;
    case BlockKind::kCheck:
      read_check(block);
      break;
    case BlockKind::kSource:
      read_source(block);
      break;
    default:  // of a later minor version: says nothing that we need
      break;
  }
  return {};
}

Result<> Reader::Impl::finish(const OnBatch& on_batch) {
  if (error_) return fail(*error_);
  return remember(finish_tail(on_batch), error_);
}

Result<> Reader::Impl::finish_tail(const OnBatch& on_batch) {
  if (summary.bytes == 0)
    return fail(Errc::kCorrupt, "the trace is empty")
        .hint("record again; the recording was probably stopped before it began");
  // The search for a block waits for a good piece of input: there will be none.
  if (scanning_) drop_pending(TRY(process(pending(), false, on_batch)));
  while (has_info && !pending().empty() && !scanning_) {
    // Either the trace ends here, or a damaged size reaches past its end: then there are blocks in
    // it.
    const auto rest = pending().subspan(1);
    const auto next = v6() ? find_v6_block(rest) : find_object(rest, netperf_);
    if (!next) break;
    note(offset_, "a block claims more bytes than there are");
    summary.skipped_bytes += *next + 1;
    offset_ += *next + 1;
    drop_pending(*next + 1);
    drop_pending(TRY(process(pending(), false, on_batch)));
  }
  if (!has_info)
    return fail(Errc::kCorrupt, "the trace ends within its header, after {} bytes", summary.bytes);
  summary.truncated = source_truncated_ || !summary.ended;
  const auto rest = pending();
  if (!rest.empty() && summary.ended) note(offset_, "data after the end mark");
  const auto frame = next_frame(rest);
  if (!scanning_ && !summary.ended && frame.kind == BlockKind::kEvent && frame.content_begin > 0 &&
      rest.size() > frame.content_begin) {
    const auto content = rest.subspan(frame.content_begin);
    TRY(read_block(frame,
                   {.content = content.first(std::min(frame.content_size, content.size())),
                    .offset = offset_ + frame.content_begin,
                    .whole = false},
                   on_batch));
  } else {
    summary.skipped_bytes += rest.size();
  }
  pending_.clear();
  pending_begin_ = 0;
  return {};
}

void Reader::Impl::note(std::uint64_t offset, std::string what) {
  ++summary.damaged;
  if (damage.size() < kMaxNotes) damage.push_back({offset, std::move(what)});
}

}  // namespace clrscope::nettrace
