// What is in the blocks.
#include <charconv>

#include "nettrace/impl.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kMaxThreads = 100'000;
constexpr std::size_t kMaxThreadBytes = 64 << 20;
constexpr std::size_t kMaxDecodedLabels = 1 << 20;  // bytes they were decoded from
constexpr std::size_t kMaxLabelList = 4 << 10;      // bytes; a longer one is left out
constexpr std::int64_t kNanoseconds = 1'000'000'000;

Bytes take_stack(ByteReader& in) { return in.take(in.read<std::uint32_t>()); }

std::string read_text(ByteReader& in) { return std::string{as_text(in.take(in.read_varuint()))}; }

// Reads the labels of one event up to the one marked as the last.
void read_label_list(ByteReader& in, EventLabels& out) {
  for (bool last = false; !last && in.ok();) {
    const auto kind = in.read<std::uint8_t>();
    last = (kind & 0x80) != 0;
    switch (kind & 0x7f) {
      case 1:
        out.activity = in.read<Guid>();
        break;
      case 2:
        out.related = in.read<Guid>();
        break;
      case 3:
        out.trace_id = in.read<Guid>();
        break;
      case 4:
        out.span_id = in.read<std::uint64_t>();
        break;
      case 5: {
        auto key = read_text(in);
        out.texts.emplace_back(std::move(key), read_text(in));
        break;
      }
      case 6: {
        auto key = read_text(in);
        const auto zigzag = in.read_varuint();
        const auto value = static_cast<std::int64_t>((zigzag >> 1) ^ (0 - (zigzag & 1)));
        out.numbers.emplace_back(std::move(key), value);
        break;
      }
      case 7:
        out.opcode = in.read<std::uint8_t>();
        break;
      case 8:
        out.keywords = in.read<std::uint64_t>();
        break;
      case 9:
        out.level = in.read<std::uint8_t>();
        break;
      case 10:
        out.version = in.read<std::uint8_t>();
        break;
      default:
        in.fail();  // its length is not known
    }
  }
}

// Steps over one label list without making anything of it.
Bytes take_labels(ByteReader& in) {
  ByteReader ahead{in};
  const auto begin = ahead.offset();
  for (bool last = false; !last && ahead.ok();) {
    const auto kind = ahead.read<std::uint8_t>();
    last = (kind & 0x80) != 0;
    switch (kind & 0x7f) {
      case 1:
      case 2:
      case 3:
        ahead.skip(16);
        break;
      case 4:
      case 8:
        ahead.skip(8);
        break;
      case 5:
        ahead.skip(ahead.read_varuint());
        ahead.skip(ahead.read_varuint());
        break;
      case 6:
        ahead.skip(ahead.read_varuint());
        (void)ahead.read_varuint();
        break;
      case 7:
      case 9:
      case 10:
        ahead.skip(1);
        break;
      default:
        ahead.fail();
    }
  }
  if (!ahead.ok()) {
    in.fail();
    return {};
  }
  return in.take(ahead.offset() - begin);
}

// Year, month, day of week, day, hour, minute, second, millisecond.
std::optional<WallTime> read_wall_time(ByteReader& in) {
  std::uint16_t part[8];
  for (auto& p : part) p = in.read<std::uint16_t>();
  using namespace std::chrono;
  const year_month_day date{year{part[0]}, month{part[1]}, day{part[3]}};
  if (!in.ok() || !date.ok() || part[0] < 1970 || part[0] > 2200 || part[4] > 23 || part[5] > 59 ||
      part[6] > 60 || part[7] > 999)
    return std::nullopt;
  return WallTime{sys_days{date}} + hours{part[4]} + minutes{part[5]} + seconds{part[6]} +
         milliseconds{part[7]};
}

Result<> check(const TraceInfo& info) {
  if (info.pointer_size != 4 && info.pointer_size != 8)
    return fail(Errc::kCorrupt, "the trace header says pointers of {} bytes", info.pointer_size);
  if (info.ticks_per_second <= 0)
    return fail(Errc::kCorrupt, "the trace header says {} ticks per second", info.ticks_per_second);
  return {};
}

template <class T>
void parse_property(const std::string& text, T& out) {
  T value{};
  const auto* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr == end && !text.empty()) out = value;
}

const Guid* guid_at(const std::uint8_t* at) {
  static_assert(alignof(Guid) == 1 && sizeof(Guid) == 16);
  std::uint64_t half[2];
  std::memcpy(half, at, sizeof half);
  return (half[0] | half[1]) == 0 ? nullptr : reinterpret_cast<const Guid*>(at);
}

}  // namespace

Reader::Impl::Impl() : batch_(kBatch), stacks_(take_stack), labels_(take_labels) {}

StackView Reader::Impl::stack(StackId id) {
  const auto number = static_cast<std::uint32_t>(id);
  if (number == 0) return {};
  if (info.version != 3) return {stacks_.find(number), info.pointer_size};
  if (number > inline_stacks_.size()) return {};
  return {inline_stacks_[number - 1], info.pointer_size};
}

Result<> Reader::Impl::read_trace(const Block& block, std::uint32_t version) {
  if (version > 4 || version < 3 || (version == 3) != netperf_)
    return fail(Errc::kUnsupported, "version {} of the nettrace format is not known", version)
        .hint("this clrscope reads versions 3 to 6; traces of .NET Core 2.0 are older");
  ByteReader in{block.content};
  info.version = version;
  const auto start = read_wall_time(in);
  if (start) info.start = *start;
  info.sync_ticks = in.read<std::int64_t>();
  info.ticks_per_second = in.read<std::int64_t>();
  info.pointer_size = in.read<std::uint32_t>();
  info.process = ProcessId{in.read<std::int32_t>()};
  info.processors = in.read<std::uint32_t>();
  info.sampling_ns = in.read<std::uint32_t>();
  if (!start) note(block.offset, "the trace header has no valid start time");
  return check(info);
}

Result<> Reader::Impl::read_trace_v6(const Block& block) {
  ByteReader in{block.content};
  const auto start = read_wall_time(in);
  if (start) info.start = *start;
  info.sync_ticks = in.read<std::int64_t>();
  info.ticks_per_second = in.read<std::int64_t>();
  info.pointer_size = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return fail(Errc::kCorrupt, "the trace header is cut short");
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto key = read_text(in);
    auto value = read_text(in);
    if (!in.ok()) break;
    std::int32_t process = 0;
    if (key == "HardwareThreadCount") parse_property(value, info.processors);
    if (key == "ExpectedCPUSamplingRate") parse_property(value, info.sampling_ns);
    if (key == "ProcessId") parse_property(value, process), info.process = ProcessId{process};
    info.properties.emplace_back(std::move(key), std::move(value));
  }
  if (!start) note(block.offset, "the trace header has no valid start time");
  if (!in.ok()) note(block.offset, "the properties in the trace header are cut short");
  return check(info);
}

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
    if (filled_ == kBatch) [[unlikely]] {
      flush(on_batch);
      labels = nullptr;  // went with the batch
    }
  });
  leave_capture();
  flush(on_batch);

  summary.undefined += undefined;
  if (undefined > 0) note(block.offset, fmt::format("{} events of no declared type", undefined));
  if (undeclared > 0)
    note(block.offset, fmt::format("{} times a thread that is not declared", undeclared));
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

void Reader::Impl::read_metadata(const Block& block) {
  ByteReader in{block.content};
  const auto format = read_block_header(in, false);
  const auto rows = in.rest();
  std::size_t read = 0;
  const auto declare = [&](const Row&, Bytes payload) {
    if (auto declared = types.declare_v5(payload); !declared)
      note(block.offset, declared.error().what);
  };
  if (format == RowFormat::kV4)
    read = for_each_row<RowFormat::kV4>(rows, declare);
  else
    read = for_each_row<RowFormat::kV4Plain>(rows, declare);
  if (!in.ok() || read < rows.size()) note(block.offset, "metadata that cannot be read");
}

void Reader::Impl::read_metadata_v6(const Block& block) {
  ByteReader in{block.content};
  in.skip(in.read<std::uint16_t>());
  while (in.ok() && !in.at_end()) {
    const auto row = in.take(in.read<std::uint16_t>());
    if (!in.ok()) break;
    if (auto declared = types.declare_v6(row); !declared) note(block.offset, declared.error().what);
  }
  if (!in.ok()) note(block.offset, "metadata that cannot be read");
}

void Reader::Impl::checkpoint(std::uint64_t id, std::uint32_t sequence) {
  auto& capture = captures.get(id);
  if (!capture.sequence.known) {
    capture.process = info.process;
    capture.thread = ThreadId{id};
  }
  const auto lost = capture.sequence.checkpoint(sequence, v6());
  capture.lost += lost;
  summary.lost += lost;
}

void Reader::Impl::read_sequence_point(const Block& block, const OnBatch& on_batch) {
  ByteReader in{block.content};
  const auto ticks = in.read<std::int64_t>();
  const auto flags = v6() ? in.read<std::uint32_t>() : 0;
  const auto count = in.read<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto id = v6() ? in.read_varuint() : in.read<std::uint64_t>();
    const auto sequence =
        v6() ? static_cast<std::uint32_t>(in.read_varuint()) : in.read<std::uint32_t>();
    if (in.ok()) checkpoint(id, sequence);
  }
  if (!in.ok()) note(block.offset, "a sequence point that is cut short");

  const SequencePoint point{.time = info.time_of(ticks), .ticks = ticks};
  on_batch({.events = {}, .sequence_point = &point});
  stacks_.clear();
  labels_.clear();
  forget_decoded_labels();
  if (flags & 1) {
    threads.clear();
    thread_bytes_ = 0;
    captures.forget_all();
  }
  if (flags & 2) types.forget_numbers();
}

void Reader::Impl::read_stacks(const Block& block) {
  ByteReader in{block.content};
  const auto first = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return note(block.offset, "a stack block that is cut short");
  if (!stacks_.add(first, count, in.rest(), block.borrowed))
    note(block.offset, "too many stacks without a sequence point: the older ones are left out");
}

void Reader::Impl::read_labels(const Block& block) {
  ByteReader in{block.content};
  const auto first = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return note(block.offset, "a label block that is cut short");
  if (!labels_.add(first, count, in.rest(), block.borrowed))
    note(block.offset, "too many labels without a sequence point: the older ones are left out");
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

void Reader::Impl::read_threads(const Block& block) {
  ByteReader in{block.content};
  while (in.ok() && !in.at_end()) {
    const auto row_bytes = in.take(in.read<std::uint16_t>());
    if (!in.ok()) break;
    ByteReader row{row_bytes};
    ThreadInfo thread{.index = row.read_varuint()};
    while (row.ok() && !row.at_end()) {
      switch (row.read<std::uint8_t>()) {
        case 1:
          thread.name = read_text(row);
          break;
        case 2:
          thread.process = ProcessId{static_cast<std::int32_t>(row.read_varuint())};
          break;
        case 3:
          thread.thread = ThreadId{row.read_varuint()};
          break;
        case 4: {
          auto key = read_text(row);
          thread.attributes.emplace_back(std::move(key), read_text(row));
          break;
        }
        default:
          row.skip(row.remaining());  // of a later version
      }
    }
    if (!row.ok()) {
      note(block.offset, "a thread that cannot be read");
      continue;
    }
    thread_bytes_ += row_bytes.size();
    if (thread_bytes_ > kMaxThreadBytes ||
        (threads.size() >= kMaxThreads && !threads.contains(thread.index))) {
      note(block.offset, "too many threads: the rest of them is left out");
      return;
    }
    auto& capture = captures.get(thread.index);
    capture.sequence.known = true;
    capture.process = thread.process;
    capture.thread = thread.thread;
    threads[thread.index] = std::move(thread);
  }
  if (!in.ok()) note(block.offset, "a thread block that is cut short");
}

void Reader::Impl::read_removed_threads(const Block& block) {
  ByteReader in{block.content};
  while (in.ok() && !in.at_end()) {
    const auto index = in.read_varuint();
    const auto sequence = static_cast<std::uint32_t>(in.read_varuint());
    if (!in.ok()) break;
    checkpoint(index, sequence);
    captures.forget(index);
    threads.erase(index);
  }
  if (!in.ok()) note(block.offset, "a block of removed threads that is cut short");
}

}  // namespace clrscope::nettrace
