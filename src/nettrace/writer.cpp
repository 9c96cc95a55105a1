#include "nettrace/writer.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "model/intern.h"
#include "nettrace/capture.h"
#include "nettrace/encode.h"
#include "nettrace/rows.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kFlushBytes = 1 << 20;
constexpr std::size_t kMaxEventBytes = 8 << 20;  // so that a block with it stays below 16 MiB
constexpr std::size_t kMaxHeldBytes = 8 << 20;   // where sources are waited for
constexpr std::size_t kMaxStackBytes = 4 << 20;  // then a sequence point lets readers forget them
constexpr std::size_t kMaxEnded = 10'000;        // threads of which events may still come

// Numbered byte strings, each once; the new ones go into the next block of their kind.
class NumberedBytes {
 public:
  std::uint32_t number_of(Bytes bytes) {
    if (bytes.empty()) return 0;
    const auto hash = hash_bytes(bytes.data(), bytes.size());
    auto i = index_.find(hash, [&](std::uint32_t known) {
      return std::ranges::equal(Bytes{arena_}.subspan(places_[known].first, places_[known].second),
                                bytes);
    });
    if (i == HashIndex::kNone) {
      i = static_cast<std::uint32_t>(places_.size());
      places_.emplace_back(arena_.size(), bytes.size());
      arena_.insert(arena_.end(), bytes.begin(), bytes.end());
      index_.insert(hash, i);
    }
    return i + 1;
  }

  // Blocks of those not yet written: first number, count, then the entries.
  void put_new(ByteWriter& out, BlockKind kind, bool with_size) {
    while (written_ < places_.size()) {
      ByteWriter content;
      content.write(static_cast<std::uint32_t>(written_ + 1));
      content.write(std::uint32_t{0});
      std::uint32_t count = 0;
      for (; written_ < places_.size() && content.size() < kFlushBytes; ++written_, ++count) {
        const auto [begin, size] = places_[written_];
        if (with_size) content.write(static_cast<std::uint32_t>(size));
        content.put(Bytes{arena_}.subspan(begin, size));
      }
      content.patch(4, count);
      put_block(out, kind, content.bytes());
    }
  }

  std::size_t bytes() const { return arena_.size(); }
  Bytes of(std::uint32_t number) const {
    if (number == 0) return {};
    const auto [begin, size] = places_[number - 1];
    return Bytes{arena_}.subspan(begin, size);
  }

 private:
  std::vector<std::uint8_t> arena_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  HashIndex index_;
  std::size_t written_ = 0;
};

struct Capture {
  std::uint64_t index = 0;         // in the file
  Sequence original;               // of the source
  std::uint32_t sequence = 0;      // in the file, of what was flushed
  std::uint64_t pending_lost = 0;  // to be put before its next event, or into the sequence point
};

struct Source {
  Writer::Numbering numbering;
  std::vector<std::uint32_t> type_numbers{};  // by EventType::index; 0 = not yet
  std::unordered_map<std::uint64_t, Capture> captures{};
};

struct Thread {
  std::optional<std::uint64_t> index{};  // in the file; nothing: not yet
  std::string name{};
  std::optional<std::int64_t> ended{};  // ticks
};

struct Held {
  std::int64_t ticks;
  Capture* capture;
  std::uint64_t lost_before;
  std::uint64_t thread;
  std::uint32_t type;
  std::uint32_t processor;
  std::uint32_t stack;
  std::uint32_t labels;
  std::size_t payload_begin;
  std::uint32_t payload_size;
};

}  // namespace

class Writer::Impl {
 public:
  Impl(TraceInfo info, WriteBytes write) : info_(std::move(info)), write_(std::move(write)) {
    put_trace_header(out_, info_);
    // Index 0: readers want it declared, whether it is used or not.
    threads_[{}].index = declare_thread(ProcessId{}, ThreadId{}, {});
    last_ticks_ = info_.sync_ticks;
  }

  SourceId add_source(Numbering numbering) {
    if (!free_sources_.empty()) {
      const auto id = free_sources_.back();
      free_sources_.pop_back();
      source(id) = {.numbering = numbering};
      return id;
    }
    sources_.push_back({.numbering = numbering});
    return SourceId{static_cast<std::uint32_t>(sources_.size() - 1)};
  }

  Result<> remove_source(SourceId id) {
    TRY(sequence_point(last_ticks_));
    source(id) = {.numbering = Numbering::kNone};
    free_sources_.push_back(id);
    return {};
  }

  Result<> write(SourceId id, const Event& event, const StackView& stack) {
    if (broken_) return fail(*broken_);
    if (event.payload.size() + stack.bytes().size() > kMaxEventBytes)
      return fail(Errc::kUnsupported, "an event of {} bytes does not fit into a trace",
                  event.payload.size() + stack.bytes().size());
    auto& from = source(id);
    auto& capture = capture_of(from, event.capture_thread, event.process);
    step(from, capture, event.sequence);

    labels_scratch_.clear();
    if (event.activity || event.related || event.labels) encode_labels(labels_scratch_, event);
    held_.push_back({.ticks = event.ticks,
                     .capture = &capture,
                     .lost_before = std::exchange(capture.pending_lost, 0),
                     .thread = thread_index(event.process, event.thread, event.ticks),
                     .type = type_number(from, *event.type),
                     .processor = event.processor,
                     .stack = stacks_.number_of(stack.bytes()),
                     .labels = labels_.number_of(labels_scratch_.bytes()),
                     .payload_begin = payloads_.size(),
                     .payload_size = static_cast<std::uint32_t>(event.payload.size())});
    payloads_.insert(payloads_.end(), event.payload.begin(), event.payload.end());
    last_ticks_ = std::max(last_ticks_, event.ticks);
    ++summary.events;
    if (advanced_ && event.ticks <= *advanced_) ++summary.late;
    if (advanced_ ? held_bytes() >= kMaxHeldBytes : held_bytes() >= kFlushBytes)
      TRY(advanced_ ? advance(last_ticks_) : flush());
    if (stacks_.bytes() > kMaxStackBytes || labels_.bytes() > kMaxStackBytes) TRY(forget_stacks());
    return {};
  }

  Result<> forget_stacks() {
    TRY(sequence_point(advanced_.value_or(last_ticks_)));
    // Those of held events are there still: if they are the most, they must go too.
    return stacks_.bytes() > kMaxStackBytes / 2 ? sequence_point(last_ticks_) : Result<>{};
  }

  void checkpoint(SourceId id, std::uint64_t capture_thread, std::uint32_t sequence) {
    auto& from = source(id);
    auto& capture = capture_of(from, capture_thread, info_.process);
    if (from.numbering != Numbering::kNone)
      capture.pending_lost +=
          capture.original.checkpoint(sequence, from.numbering == Numbering::kFromZero);
  }

  void skip(SourceId id, const Event& event) {
    auto& from = source(id);
    step(from, capture_of(from, event.capture_thread, event.process), event.sequence);
  }

  void add_lost(SourceId id, std::uint64_t count) {
    capture_of(source(id), 0, info_.process).pending_lost += count;
  }

  void name_thread(ProcessId process, ThreadId thread, std::string name) {
    auto& known = threads_[{process, thread}];
    known.name = std::move(name);
    known.ended.reset();  // the number is another's now
  }

  void thread_ended(ProcessId process, ThreadId thread, std::int64_t ticks) {
    if (const auto known = threads_.find({process, thread}); known != threads_.end())
      note_end(known, ticks);
    forget_ended();
  }

  void process_ended(ProcessId process, std::int64_t ticks) {
    for (auto known = threads_.lower_bound({process, ThreadId{}});
         known != threads_.end() && known->first.first == process; ++known)
      note_end(known, ticks);
    forget_ended();
  }

  Result<> advance(std::int64_t ticks) {
    if (broken_) return fail(*broken_);
    if (!advanced_) advanced_ = info_.sync_ticks;
    if (ticks <= *advanced_ && held_bytes() < kFlushBytes) return {};
    advanced_ = std::max(*advanced_, ticks);
    put_new_ids();
    const auto later = std::ranges::stable_partition(
        held_, [&](const Held& held) { return held.ticks <= *advanced_; });
    std::vector<Held> rest{later.begin(), later.end()};
    held_.erase(later.begin(), later.end());
    TRY(put_events());
    std::vector<std::uint8_t> payloads;
    for (auto& held : rest) {
      const auto payload = Bytes{payloads_}.subspan(held.payload_begin, held.payload_size);
      held.payload_begin = payloads.size();
      payloads.insert(payloads.end(), payload.begin(), payload.end());
    }
    payloads_ = std::move(payloads);
    held_ = std::move(rest);
    return emit();
  }

  Result<> sequence_point(std::int64_t ticks) {
    TRY(advanced_ ? advance(ticks) : flush());
    ByteWriter content;
    content.write(ticks);
    content.write(std::uint32_t{0});
    content.write(std::uint32_t{0});
    std::uint32_t count = 0;
    for (auto& from : sources_)
      for (auto& [id, capture] : from.captures) {
        take_lost(capture, std::exchange(capture.pending_lost, 0));
        content.write_varuint(capture.index);
        content.write_varuint(capture.sequence);
        ++count;
      }
    content.patch(12, count);
    put_new_types_and_threads();  // a capture thread may have had no event yet
    put_block(out_, BlockKind::kSequencePoint, content.bytes());
    const auto stacks = std::exchange(stacks_, {});
    const auto labels = std::exchange(labels_, {});
    for (auto& held : held_) {  // their numbers mean nothing any more
      held.stack = stacks_.number_of(stacks.of(held.stack));
      held.labels = labels_.number_of(labels.of(held.labels));
    }
    return emit();
  }

  Result<> finish() {
    advanced_.reset();  // nothing is waited for any more
    TRY(sequence_point(last_ticks_));
    put_block(out_, BlockKind::kEnd, {});
    return put_out();
  }

  void tell_damage(const Summary& read, std::span<const Damage> damage) {
    put_source(out_, read, damage);
  }

  Result<> flush() {
    if (broken_) return fail(*broken_);
    put_new_ids();
    TRY(put_events());
    payloads_.clear();
    return emit();
  }

  WriterSummary summary;

 private:
  using ThreadKey = std::pair<ProcessId, ThreadId>;
  using Threads = std::map<ThreadKey, Thread>;

  static void step(const Source& from, Capture& capture, std::uint32_t sequence) {
    if (from.numbering != Numbering::kNone)
      capture.pending_lost +=
          capture.original.step(sequence, from.numbering == Numbering::kFromZero);
  }

  std::size_t held_bytes() const {
    return payloads_.size() + held_.size() * 16 + new_types_.size() + new_threads_.size();
  }

  Source& source(SourceId id) { return sources_[static_cast<std::size_t>(id)]; }

  std::uint64_t declare_thread(ProcessId process, ThreadId thread, std::string_view name) {
    put_thread_row(new_threads_, next_index_, process, thread, name);
    return next_index_++;
  }

  std::uint64_t thread_index(ProcessId process, ThreadId thread, std::int64_t ticks) {
    const ThreadKey key{process, thread};
    if (last_ == threads_.end() || last_->first != key) last_ = threads_.try_emplace(key).first;
    auto& known = last_->second;
    if (!known.index) known.index = declare_thread(process, thread, known.name);
    // What the kernel still does for it is seen too; later, the number is another's.
    if (known.ended && ticks - *known.ended > info_.ticks_per_second) known.ended.reset();
    return *known.index;
  }

  void note_end(Threads::iterator thread, std::int64_t ticks) {
    if (thread->second.ended) return;
    thread->second.ended = ticks;
    ended_.emplace_back(thread->first, ticks);
  }

  void forget_ended() {
    while (ended_.size() > kMaxEnded && ended_.front().second <= advanced_.value_or(last_ticks_)) {
      const auto [key, ticks] = ended_.front();
      ended_.pop_front();
      const auto known = threads_.find(key);
      if (known == threads_.end() || known->second.ended != ticks) continue;
      if (last_ == known) last_ = threads_.end();
      threads_.erase(known);
    }
  }

  Capture& capture_of(Source& from, std::uint64_t id, ProcessId process) {
    auto [place, fresh] = from.captures.try_emplace(id);
    // A V6 source has an index there, which names no thread.
    const bool index =
        from.numbering == Numbering::kFromZero || from.numbering == Numbering::kIndexFromFirstSeen;
    const auto thread = index ? ThreadId{} : ThreadId{id};
    if (fresh) {
      const auto known = threads_.find({process, thread});
      place->second.index = declare_thread(
          process, thread, known == threads_.end() ? std::string_view{} : known->second.name);
    }
    return place->second;
  }

  std::uint32_t type_number(Source& from, const EventType& type) {
    if (type.index >= from.type_numbers.size())
      from.type_numbers.resize(type.index + std::size_t{1});
    auto& number = from.type_numbers[type.index];
    if (number != 0) return number;
    const auto [place, fresh] = types_.try_emplace(encode_type(type), types_.size() + 1);
    number = static_cast<std::uint32_t>(place->second);
    if (fresh) put_metadata_row(new_types_, number, place->first);
    return number;
  }

  // In a 32-bit sequence number a larger gap would look like none, or like a step back.
  void take_lost(Capture& capture, std::uint64_t lost) {
    const auto shown = static_cast<std::uint32_t>(std::min<std::uint64_t>(lost, 0x7fffffff));
    capture.sequence += shown;
    summary.lost += shown;
  }

  void put_new_types_and_threads() {
    if (new_types_.size() > 0) {
      ByteWriter content;
      content.write(std::uint16_t{0});
      content.put(new_types_.bytes());
      put_block(out_, BlockKind::kMetadata, content.bytes());
      new_types_.clear();
    }
    if (new_threads_.size() > 0) {
      put_block(out_, BlockKind::kThread, new_threads_.bytes());
      new_threads_.clear();
    }
  }

  // What the events to come refer to.
  void put_new_ids() {
    put_new_types_and_threads();
    stacks_.put_new(out_, BlockKind::kStack, true);
    labels_.put_new(out_, BlockKind::kLabelList, false);
  }

  // Blocks of one capture thread each, in order of time.
  Result<> put_events() {
    std::ranges::stable_sort(held_, [](const Held& a, const Held& b) {
      return a.capture->index != b.capture->index ? a.capture->index < b.capture->index
                                                  : a.ticks < b.ticks;
    });
    for (auto begin = held_.begin(); begin != held_.end();) {
      std::size_t bytes = 0;
      const auto end = std::find_if(begin, held_.end(), [&](const Held& h) {
        bytes += h.payload_size;
        return h.capture != begin->capture || (bytes > kFlushBytes && &h != &*begin);
      });
      put_event_block({begin, end});
      begin = end;
      if (out_.size() >= kFlushBytes) TRY(emit());
    }
    held_.clear();
    return {};
  }

  void put_event_block(std::span<const Held> events) {
    block_.clear();
    block_.write(std::uint16_t{20});
    block_.write(std::uint16_t{1});
    block_.write(events.front().ticks);
    block_.write(events.back().ticks);
    Row row;
    for (const auto& event : events) put_row(event, row);
    put_block(out_, BlockKind::kEvent, block_.bytes());
  }

  void put_row(const Held& event, Row& row) {
    auto& capture = *event.capture;
    take_lost(capture, event.lost_before);
    ++capture.sequence;

    unsigned flags = 0;
    const auto changes = [&](auto& old, auto now, unsigned flag) {
      if (old != now) flags |= flag;
      old = now;
    };
    const auto step = capture.sequence - row.sequence - 1;
    row.sequence = capture.sequence;
    if (step != 0) flags |= change::kCapture;
    changes(row.capture, capture.index, change::kCapture);
    changes(row.processor, event.processor, change::kCapture);
    changes(row.type, event.type, change::kType);
    changes(row.thread, event.thread, change::kThread);
    changes(row.stack, event.stack, change::kStack);
    changes(row.labels, event.labels, change::kActivity);
    changes(row.payload_size, event.payload_size, change::kSize);
    const auto delta =
        static_cast<std::uint64_t>(event.ticks) - static_cast<std::uint64_t>(row.ticks);
    row.ticks = event.ticks;

    block_.write(static_cast<std::uint8_t>(flags));
    if (flags & change::kType) block_.write_varuint(row.type);
    if (flags & change::kCapture) {
      block_.write_varuint(step);
      block_.write_varuint(row.capture);
      block_.write_varuint(row.processor);
    }
    if (flags & change::kThread) block_.write_varuint(row.thread);
    if (flags & change::kStack) block_.write_varuint(row.stack);
    block_.write_varuint(delta);
    if (flags & change::kActivity) block_.write_varuint(row.labels);
    if (flags & change::kSize) block_.write_varuint(row.payload_size);
    block_.put(Bytes{payloads_}.subspan(event.payload_begin, event.payload_size));
  }

  // Blocks, and what they must add up to.
  Result<> emit() {
    if (out_.size() == 0) return {};
    put_check(out_, summary.bytes == 0 ? kHeadSize : 0);
    return put_out();
  }

  Result<> put_out() {
    summary.bytes += out_.size();
    auto done = write_(out_.bytes());
    out_.clear();
    if (!done) broken_ = done.error();
    return done;
  }

  TraceInfo info_;
  WriteBytes write_;
  std::optional<Error> broken_;           // its output failed: nothing is held for it any more
  std::optional<std::int64_t> advanced_;  // all sources have come so far; nothing: not asked for
  std::deque<Source> sources_;
  std::vector<SourceId> free_sources_;
  Threads threads_;
  Threads::iterator last_ = threads_.end();               // asked for
  std::deque<std::pair<ThreadKey, std::int64_t>> ended_;  // and when, in the order they were told
  std::uint64_t next_index_ = 0;
  std::unordered_map<std::string, std::uint64_t> types_;
  NumberedBytes stacks_;
  NumberedBytes labels_;
  ByteWriter labels_scratch_;
  ByteWriter new_types_;
  ByteWriter new_threads_;
  std::vector<Held> held_;
  std::vector<std::uint8_t> payloads_;
  ByteWriter block_;
  ByteWriter out_;
  std::int64_t last_ticks_ = 0;
};

Writer::Writer(const TraceInfo& info, WriteBytes write)
    : impl_(std::make_unique<Impl>(info, std::move(write))) {}
Writer::~Writer() = default;
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;

SourceId Writer::add_source(Numbering numbering) { return impl_->add_source(numbering); }
Result<> Writer::remove_source(SourceId source) { return impl_->remove_source(source); }
Result<> Writer::write(SourceId source, const Event& event, const StackView& stack) {
  return impl_->write(source, event, stack);
}
void Writer::checkpoint(SourceId source, std::uint64_t capture_thread, std::uint32_t sequence) {
  impl_->checkpoint(source, capture_thread, sequence);
}
void Writer::skip(SourceId source, const Event& event) { impl_->skip(source, event); }
void Writer::add_lost(SourceId source, std::uint64_t count) { impl_->add_lost(source, count); }
void Writer::name_thread(ProcessId process, ThreadId thread, std::string name) {
  impl_->name_thread(process, thread, std::move(name));
}
void Writer::thread_ended(ProcessId process, ThreadId thread, std::int64_t ticks) {
  impl_->thread_ended(process, thread, ticks);
}
void Writer::process_ended(ProcessId process, std::int64_t ticks) {
  impl_->process_ended(process, ticks);
}
Result<> Writer::flush() { return impl_->flush(); }
Result<> Writer::advance(std::int64_t ticks) { return impl_->advance(ticks); }
Result<> Writer::sequence_point(std::int64_t ticks) { return impl_->sequence_point(ticks); }
void Writer::tell_damage(const Summary& read, std::span<const Damage> damage) {
  impl_->tell_damage(read, damage);
}
Result<> Writer::finish() { return impl_->finish(); }
const WriterSummary& Writer::summary() const { return impl_->summary; }

}  // namespace clrscope::nettrace
