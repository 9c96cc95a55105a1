// Event blocks to batches of events.
#include "nettrace/impl.h"
#include "nettrace/labels.h"

namespace clrscope::nettrace {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kMaxDecodedLabels = 1 << 20;  // bytes they were decoded from
constexpr std::size_t kMaxLabelList = 4 << 10;      // bytes; a longer one is left out

const Guid* guid_at(const std::uint8_t* at) {
  static_assert(alignof(Guid) == 1 && sizeof(Guid) == 16);
  std::uint64_t half[2];
  std::memcpy(half, at, sizeof half);
  return (half[0] | half[1]) == 0 ? nullptr : reinterpret_cast<const Guid*>(at);
}

}  // namespace

void Reader::Impl::flush(const OnBatch& on_batch) {
  if (filled_ == 0) return;
  summary.events += filled_;
  const auto events = std::span<const Event>{batch_}.first(filled_);
  filled_ = 0;
  on_batch({.events = events});
  inline_stacks_.clear();
  if (decoded_label_bytes_ > kMaxDecodedLabels) forget_decoded_labels();
}

void Reader::Impl::read_events(const Block& block, const OnBatch& on_batch) {
  ByteReader in{block.content};
  const auto format = read_block_header(in, v6());
  if (!in.ok()) {
    if (block.whole) note(block.offset, "an event block without a valid header");
    return;
  }
  const auto rows = in.rest();
  switch (format) {
    case RowFormat::kV4:
      read_rows<RowFormat::kV4>(rows, block, on_batch);
      break;
    case RowFormat::kV4Plain:
      read_rows<RowFormat::kV4Plain>(rows, block, on_batch);
      break;
    case RowFormat::kV6:
      read_rows<RowFormat::kV6>(rows, block, on_batch);
      break;
    case RowFormat::kV6Plain:
      read_rows<RowFormat::kV6Plain>(rows, block, on_batch);
      break;
  }
}

template <RowFormat F>
void Reader::Impl::read_rows(Bytes rows, const Block& block, const OnBatch& on_batch) {
  const bool direct = info.ticks_per_second == kNanoseconds;
  const EventType* type = nullptr;
  const EventLabels* labels = nullptr;
  const Guid* activity = nullptr;
  const Guid* related = nullptr;
  CaptureTable::Entry* capture = nullptr;
  std::uint64_t captured = 0;  // rows since `capture` is the one
  std::uint32_t sequence = 0;
  ProcessId process = info.process;
  ThreadId thread{};
  bool thread_known = !is_v6(F);
  std::uint64_t undefined = 0;
  std::uint64_t undeclared = 0;
  std::uint32_t last_stack = 0;
  bool stack_known = true;
  std::uint64_t stackless = 0;
  std::uint64_t out_of_range = 0;
  const auto valid_ticks = valid_ticks_;

  const auto leave_capture = [&] {
    if (!capture) return;
    capture->sequence.last = sequence;
    capture->events += captured;
    captured = 0;
  };

  const auto read = for_each_row<F>(rows, [&](const Row& row, Bytes payload) {
    if (row.changed & change::kType) type = types.find(row.type);
    if ((row.changed & change::kCapture) || !capture) {
      leave_capture();
      capture = &captures.get(row.capture);
      if (!capture->sequence.known) {
        capture->process = info.process;
        capture->thread = ThreadId{row.capture};
      }
      const auto lost = capture->sequence.step(row.sequence, is_v6(F));
      capture->lost += lost;
      summary.lost += lost;
    }
    sequence = row.sequence;
    ++captured;
    if constexpr (is_v6(F)) {
      if ((row.changed & change::kThread) || !thread_known) {
        const auto found = threads.find(row.thread);
        thread_known = true;
        const bool declared = found != threads.end();
        if (!declared) ++undeclared;
        process = declared ? found->second.process : ProcessId{};
        thread = declared ? found->second.thread : ThreadId{};
      }
      if (row.changed & change::kActivity) labels = nullptr;
      if (row.labels != 0 && !labels) {
        labels = labels_of(row.labels);
        activity = labels && !labels->activity.empty() ? &labels->activity : nullptr;
        related = labels && !labels->related.empty() ? &labels->related : nullptr;
      } else if (row.labels == 0) {
        activity = related = nullptr;
      }
    } else {
      thread = ThreadId{row.thread};
      if (row.changed & change::kActivity) activity = guid_at(row.activity);
      if (row.changed & change::kRelated) related = guid_at(row.related);
    }
    if (!type) [[unlikely]] {
      ++undefined;
      return;
    }
    if (!valid_ticks.holds(row.ticks)) [[unlikely]] {
      ++out_of_range;
      return;
    }
    Event& event = batch_[filled_++];
    event.type = type;
    event.time = direct ? TraceTime{std::chrono::nanoseconds{row.ticks}} : info.time_of(row.ticks);
    event.ticks = row.ticks;
    event.thread = thread;
    event.capture_thread = row.capture;
    event.payload = payload;
    event.activity = activity;
    event.related = related;
    event.labels = labels;
    event.process = process;
    event.processor = row.processor;
    event.sequence = row.sequence;
    event.stack = StackId{row.stack};
    if (row.stack != last_stack) {
      last_stack = row.stack;
      stack_known = last_stack == 0 || stacks_.holds(last_stack);
    }
    if (!stack_known) [[unlikely]]
      ++stackless;
    if (filled_ == kBatch) [[unlikely]] {
      flush(on_batch);
      labels = nullptr;  // went with the batch
    }
  });
  leave_capture();
  flush(on_batch);

  summary.undefined += undefined;
  if (undefined > 0) note(block.offset, fmt::format("{} events of no declared type", undefined));
  if (stackless > 0)
    note(block.offset, fmt::format("{} events whose stack is not in the trace", stackless));
  if (undeclared > 0)
    note(block.offset, fmt::format("{} times a thread that is not declared", undeclared));
  note_invalid_times(block.offset, out_of_range);
  if (read == rows.size()) return;
  const auto left = rows.size() - read;
  summary.skipped_bytes += left;
  if (block.whole)
    note(block.offset + block.content.size() - left,
         fmt::format("an event that cannot be read, and {} bytes after it", left));
}

void Reader::Impl::read_events_v3(const Block& block, const OnBatch& on_batch) {
  ByteReader in{block.content};
  while (!in.at_end()) {
    const auto begin = in.offset();
    const auto size = in.read<std::uint32_t>();
    ByteReader row{in.take(size)};
    const auto number = row.read<std::uint32_t>();
    const auto thread = row.read<std::uint32_t>();
    const auto ticks = row.read<std::int64_t>();
    const auto activity = row.take(sizeof(Guid));
    const auto related = row.take(sizeof(Guid));
    const auto payload = row.take(row.read<std::uint32_t>());
    const auto stack = row.take(row.read<std::uint32_t>());
    if (!in.ok() || !row.ok()) {
      const auto left = block.content.size() - begin;
      summary.skipped_bytes += left;
      if (block.whole)
        note(block.offset + begin,
             fmt::format("an event that cannot be read, and {} bytes after it", left));
      break;
    }
    if (number == 0) {
      if (auto declared = types.declare_v5(payload); !declared)
        note(block.offset + begin, declared.error().what);
      continue;
    }
    const auto* type = types.find(number);
    if (!type) {
      ++summary.undefined;
      note(block.offset + begin, fmt::format("an event of undeclared type {}", number));
      continue;
    }
    if (!valid_ticks_.holds(ticks)) {
      note_invalid_times(block.offset + begin, 1);
      continue;
    }
    if (!stack.empty()) inline_stacks_.push_back(stack);
    Event& event = batch_[filled_++];
    event = {
        .type = type,
        .time = info.time_of(ticks),
        .ticks = ticks,
        .thread = ThreadId{thread},
        .payload = payload,
        .activity = guid_at(activity.data()),
        .related = guid_at(related.data()),
        .process = info.process,
        .stack = StackId{stack.empty() ? 0 : static_cast<std::uint32_t>(inline_stacks_.size())}};
    if (filled_ == kBatch) flush(on_batch);
  }
  flush(on_batch);
}

void Reader::Impl::note_invalid_times(std::uint64_t offset, std::uint64_t events) {
  if (events == 0) return;
  note(offset, fmt::format("{} events with an invalid time left out", events));
}

void Reader::Impl::forget_decoded_labels() {
  decoded_labels_.clear();
  decoded_label_bytes_ = 0;
}

const EventLabels* Reader::Impl::labels_of(std::uint32_t id) {
  if (const auto known = decoded_labels_.find(id); known != decoded_labels_.end())
    return &known->second;
  const auto bytes = labels_.find(id);
  if (bytes.empty()) return nullptr;
  if (bytes.size() > kMaxLabelList) {
    note(offset_, fmt::format("a label list of {} bytes is left out", bytes.size()));
    return nullptr;
  }
  decoded_label_bytes_ += bytes.size();
  ByteReader in{bytes};
  auto& labels = decoded_labels_[id];
  read_label_list(in, labels);
  return &labels;
}

}  // namespace clrscope::nettrace
