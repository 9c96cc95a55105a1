// The blocks beside the events: types, stacks, threads, labels, sequence points.
#include <algorithm>

#include "nettrace/impl.h"
#include "nettrace/labels.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kMaxThreads = 100'000;
constexpr std::size_t kMaxThreadBytes = 64 << 20;

Bytes take_stack(ByteReader& in) { return in.take(in.read<std::uint32_t>()); }

std::string read_text(ByteReader& in) { return std::string{as_text(in.take(in.read_varuint()))}; }

}  // namespace

Reader::Impl::Impl() : batch_(kBatch), stacks_(take_stack), labels_(take_label_list) {}

StackView Reader::Impl::stack(StackId id) {
  const auto number = static_cast<std::uint32_t>(id);
  if (number == 0) return {};
  if (info.version != 3) return {stacks_.find(number), info.pointer_size};
  if (number > inline_stacks_.size()) return {};
  const auto bytes = inline_stacks_[number - 1];  // damaged ones may end within an address
  return {bytes.first(bytes.size() - bytes.size() % info.pointer_size), info.pointer_size};
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
  auto ticks = in.read<std::int64_t>();
  const auto flags = v6() ? in.read<std::uint32_t>() : 0;
  const auto count = in.read<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto id = v6() ? in.read_varuint() : in.read<std::uint64_t>();
    const auto sequence =
        v6() ? static_cast<std::uint32_t>(in.read_varuint()) : in.read<std::uint32_t>();
    if (in.ok()) checkpoint(id, sequence);
  }
  if (!in.ok()) note(block.offset, "a truncated sequence point");

  if (!valid_ticks_.holds(ticks)) {
    note(block.offset, "a sequence point with an invalid time");
    ticks = std::clamp(ticks, valid_ticks_.first, valid_ticks_.last);
  }
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

namespace {

// Nothing in the format vouches for a stack; but the lengths of a block's must add up to it.
bool adds_up(ByteReader stacks, std::uint32_t count, std::uint32_t pointer_size) {
  for (std::uint32_t i = 0; i < count && stacks.ok(); ++i) {
    const auto size = stacks.read<std::uint32_t>();
    if (size % pointer_size != 0) return false;
    stacks.skip(size);
  }
  return stacks.ok() && stacks.at_end();
}

}  // namespace

void Reader::Impl::read_stacks(const Block& block) {
  ByteReader in{block.content};
  const auto first = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return note(block.offset, "a truncated stack block");
  if (!adds_up(in, count, info.pointer_size))
    return note(block.offset, fmt::format("a block of {} stacks whose lengths do not add up: they "
                                          "are left out",
                                          count));
  if (first == 0 || stacks_.holds(first))
    return note(block.offset, fmt::format("a stack block that claims the number {}: its stacks are "
                                          "left out",
                                          first));
  if (!stacks_.add(first, count, in.rest(), block.borrowed))
    note(block.offset, "too many stacks without a sequence point: the older ones are left out");
}

void Reader::Impl::read_labels(const Block& block) {
  ByteReader in{block.content};
  const auto first = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return note(block.offset, "a truncated label block");
  if (!labels_.add(first, count, in.rest(), block.borrowed))
    note(block.offset, "too many labels without a sequence point: the older ones are left out");
}

// Where pieces are missing the sum says nothing, and they were counted.
void Reader::Impl::read_check(const Block& block) {
  ByteReader in{block.content};
  const auto blocks = in.read<std::uint32_t>();
  const auto sum = in.read<std::uint32_t>();
  const auto seen = std::exchange(checks_, {});
  const auto from = std::exchange(checked_from_, block.offset + block.content.size());
  if (summary.damaged == damaged_before_ && has_checks_ && blocks == seen.blocks() &&
      sum != seen.sum())
    note(from,
         fmt::format("{} blocks fail their checksum: values, names or stacks in them may be wrong",
                     blocks));
  damaged_before_ = summary.damaged;
}

void Reader::Impl::read_source(const Block& block) {
  constexpr std::string_view kWhere = "in the trace that this one was made from: ";
  constexpr std::uint64_t kMost = 1'000'000'000;
  ByteReader in{block.content};
  const auto flags = in.read<std::uint8_t>();
  const auto damaged = in.read_varuint();
  const auto skipped = in.read_varuint();
  const auto undefined = in.read_varuint();
  const auto told = in.read_varuint();
  if (!in.ok()) return note(block.offset, "a truncated block about another trace");
  source_truncated_ = (flags & kSourceTruncated) != 0;
  for (std::uint64_t i = 0; i < told; ++i) {
    const auto offset = in.read_varuint();
    const auto what = read_text(in);
    if (!in.ok() || damage.size() >= kMaxSourceNotes) break;
    damage.push_back({offset, what.starts_with(kWhere) ? what : std::string{kWhere} + what});
  }
  summary.damaged += std::min(damaged, kMost);
  summary.skipped_bytes += std::min(skipped, kMost);
  summary.undefined += std::min(undefined, kMost);
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
      note(block.offset, "too many threads: the rest is left out");
      return;
    }
    auto& capture = captures.get(thread.index);
    capture.sequence.known = true;
    capture.process = thread.process;
    capture.thread = thread.thread;
    threads[thread.index] = std::move(thread);
  }
  if (!in.ok()) note(block.offset, "a truncated thread block");
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
  if (!in.ok()) note(block.offset, "a truncated block of removed threads");
}

}  // namespace clrscope::nettrace
