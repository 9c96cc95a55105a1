#include "collect/perf/record.h"

#include <linux/perf_event.h>

#include <bit>

namespace clrscope::collect::perf {
namespace {

constexpr std::uint64_t kFirstMarker = static_cast<std::uint64_t>(-4095);

// Bits that put a word into the tail of records that are no samples, in their order there.
constexpr std::uint64_t kTailBits = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                                    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
                                    PERF_SAMPLE_IDENTIFIER;

// Fields that may stand before those we read; a layout with others cannot be read.
constexpr std::uint64_t kReadable = kTailBits | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR |
                                    PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                                    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

TraceTime time_of(std::uint64_t ns) {
  return TraceTime{std::chrono::nanoseconds{static_cast<std::int64_t>(ns)}};
}

ProcessId process_of(std::uint32_t pid) { return ProcessId{static_cast<std::int32_t>(pid)}; }
ThreadId thread_of(std::uint32_t tid) { return ThreadId{tid}; }

CodeMode mode_of(std::uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_CPUMODE_UNKNOWN:
      return CodeMode::kUnknown;
    case PERF_RECORD_MISC_KERNEL:
      return CodeMode::kKernel;
    case PERF_RECORD_MISC_USER:
      return CodeMode::kUser;
    default:
      return CodeMode::kOther;
  }
}

std::string_view text_of(Bytes padded) {
  const auto text = as_text(padded);
  return text.substr(0, text.find('\0'));
}

// The common part, in the order that samples and tails share.
void read_common(ByteReader& in, std::uint64_t type, Origin& origin) {
  if ((type & PERF_SAMPLE_TID) != 0) {
    origin.process = process_of(in.read<std::uint32_t>());
    origin.thread = thread_of(in.read<std::uint32_t>());
  }
  if ((type & PERF_SAMPLE_TIME) != 0) origin.time = time_of(in.read<std::uint64_t>());
}

void read_ids(ByteReader& in, std::uint64_t type, Origin& origin) {
  if ((type & PERF_SAMPLE_ID) != 0) origin.id = EventId{in.read<std::uint64_t>()};
  if ((type & PERF_SAMPLE_STREAM_ID) != 0) in.skip(8);
  if ((type & PERF_SAMPLE_CPU) != 0) {
    origin.cpu = in.read<std::uint32_t>();
    in.skip(4);
  }
}

void read_registers(ByteReader& in, std::uint64_t mask, Sample& sample) {
  if (in.read<std::uint64_t>() == PERF_SAMPLE_REGS_ABI_NONE) return;
  sample.registers =
      UserRegisters{mask, in.take(static_cast<std::size_t>(std::popcount(mask)) * 8)};
}

void read_stack(ByteReader& in, Sample& sample) {
  const auto room = in.read<std::uint64_t>();
  if (room == 0) return;
  const auto copy = in.take(room);
  const auto copied = in.read<std::uint64_t>();
  if (copied > room)
    in.fail();
  else
    sample.stack = copy.first(copied);
}

Sample read_sample(ByteReader& in, const RecordLayout& layout, Origin origin, std::uint16_t misc) {
  Sample sample{.mode = mode_of(misc)};
  const auto type = layout.sample_type;
  if ((type & PERF_SAMPLE_IDENTIFIER) != 0) origin.id = EventId{in.read<std::uint64_t>()};
  if ((type & PERF_SAMPLE_IP) != 0) sample.ip = in.read<std::uint64_t>();
  read_common(in, type, origin);
  if ((type & PERF_SAMPLE_ADDR) != 0) in.skip(8);
  read_ids(in, type, origin);
  if ((type & PERF_SAMPLE_PERIOD) != 0) sample.period = in.read<std::uint64_t>();
  if ((type & PERF_SAMPLE_CALLCHAIN) != 0) {
    const auto count = in.read<std::uint64_t>();
    if (count > in.remaining() / 8)
      in.fail();
    else
      sample.callchain = split_callchain(in.take(count * 8), sample.mode);
  }
  if ((type & PERF_SAMPLE_RAW) != 0) sample.raw = in.take(in.read<std::uint32_t>());
  if ((type & PERF_SAMPLE_REGS_USER) != 0) read_registers(in, layout.user_registers, sample);
  if ((type & PERF_SAMPLE_STACK_USER) != 0) read_stack(in, sample);
  sample.origin = origin;
  return sample;
}

Mapping read_mapping(ByteReader& in, std::uint32_t type, std::uint16_t misc) {
  Mapping m;
  m.process = process_of(in.read<std::uint32_t>());
  m.thread = thread_of(in.read<std::uint32_t>());
  m.address = in.read<std::uint64_t>();
  m.size = in.read<std::uint64_t>();
  m.file_offset = in.read<std::uint64_t>();
  if (type == PERF_RECORD_MMAP2) {
    ByteReader identity{in.take(24)};
    if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
      const auto size = identity.read<std::uint8_t>();
      identity.skip(3);
      m.build_id = identity.take(size);
      if (!identity.ok()) in.fail();
    } else {
      m.major = identity.read<std::uint32_t>();
      m.minor = identity.read<std::uint32_t>();
      m.inode = identity.read<std::uint64_t>();
    }
    m.protection = in.read<std::uint32_t>();
    m.flags = in.read<std::uint32_t>();
  }
  m.path = text_of(in.rest());
  return m;
}

Task read_task(ByteReader& in, Task::Kind kind) {
  Task task{.kind = kind};
  task.process = process_of(in.read<std::uint32_t>());
  task.parent_process = process_of(in.read<std::uint32_t>());
  task.thread = thread_of(in.read<std::uint32_t>());
  task.parent_thread = thread_of(in.read<std::uint32_t>());
  task.time = time_of(in.read<std::uint64_t>());
  return task;
}

Switch read_switch(ByteReader& in, std::uint32_t type, std::uint16_t misc) {
  Switch s;
  s.out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
  s.preempted = s.out && (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  s.cpu_wide = type == PERF_RECORD_SWITCH_CPU_WIDE;
  if (s.cpu_wide) {
    s.other_process = process_of(in.read<std::uint32_t>());
    s.other_thread = thread_of(in.read<std::uint32_t>());
  }
  return s;
}

Record read_other(ByteReader& in, std::uint32_t type, std::uint16_t misc) {
  switch (type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return read_mapping(in, type, misc);
    case PERF_RECORD_COMM: {
      ThreadName name;
      name.process = process_of(in.read<std::uint32_t>());
      name.thread = thread_of(in.read<std::uint32_t>());
      name.exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
      name.name = text_of(in.rest());
      return name;
    }
    case PERF_RECORD_FORK:
      return read_task(in, Task::Kind::kFork);
    case PERF_RECORD_EXIT:
      return read_task(in, Task::Kind::kExit);
    case PERF_RECORD_LOST:
      in.skip(8);
      return Lost{.count = in.read<std::uint64_t>()};
    case PERF_RECORD_LOST_SAMPLES:
      return Lost{.count = in.read<std::uint64_t>(), .samples_only = true};
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return read_switch(in, type, misc);
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return Throttle{.begins = type == PERF_RECORD_THROTTLE};
    default:
      return Other{.type = type};
  }
}

}  // namespace

std::optional<std::uint64_t> UserRegisters::get(unsigned bit) const {
  if (bit >= 64 || (mask_ >> bit & 1) == 0) return std::nullopt;
  const auto before = mask_ & ((std::uint64_t{1} << bit) - 1);
  const auto at = static_cast<std::size_t>(std::popcount(before)) * 8;
  if (values_.size() < at + 8) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, values_.data() + at, sizeof value);
  return value;
}

Callchain split_callchain(Bytes addresses, CodeMode mode) {
  Callchain chain;
  const StackView all{addresses, 8};
  StackView* part = mode == CodeMode::kKernel ? &chain.kernel
                    : mode == CodeMode::kUser ? &chain.user
                                              : nullptr;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (part != nullptr && part->empty() && end > begin)
      *part = StackView{addresses.subspan(begin * 8, (end - begin) * 8), 8};
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = all[i];
    if (value < kFirstMarker) continue;
    close(i);
    begin = i + 1;
    part = value == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) ? &chain.kernel
           : value == static_cast<std::uint64_t>(PERF_CONTEXT_USER) ? &chain.user
                                                                    : nullptr;
  }
  close(all.size());
  return chain;
}

const Origin& origin_of(const Record& record) {
  return std::visit([](const auto& r) -> const Origin& { return r.origin; }, record);
}

RecordParser::RecordParser(const RecordLayout& only)
    : kinds_{{EventIndex{0}, only}}, single_(true) {}

void RecordParser::add(EventId id, EventIndex event, const RecordLayout& layout) {
  std::size_t at = 0;
  while (at < kinds_.size() && kinds_[at].event != event) ++at;
  if (at == kinds_.size()) kinds_.push_back({event, layout});
  by_id_[static_cast<std::uint64_t>(id)] = at;
}

// A sample begins with the id of its event, every other record ends with it.
const RecordParser::Known* RecordParser::find(Bytes body, std::uint32_t type, EventId& id) const {
  if (single_) return &kinds_.front();
  if (body.size() < 8) return nullptr;
  std::uint64_t raw = 0;
  std::memcpy(&raw, type == PERF_RECORD_SAMPLE ? body.data() : body.data() + body.size() - 8, 8);
  id = EventId{raw};
  const auto found = by_id_.find(raw);
  return found == by_id_.end() ? nullptr : &kinds_[found->second];
}

Result<Record> RecordParser::parse(Bytes record) const {
  ByteReader in{record};
  const auto header = in.read<perf_event_header>();
  if (!in.ok() || header.size != record.size())
    return fail(Errc::kCorrupt, "perf record of {} bytes claims {}", record.size(), header.size);
  const auto body = record.subspan(sizeof header);
  Origin origin;
  const auto* known = find(body, header.type, origin.id);
  if (known == nullptr)
    return fail(Errc::kCorrupt, "perf record of type {} belongs to an unknown event", header.type);
  const auto& layout = known->layout;
  if ((layout.sample_type & ~kReadable) != 0)
    return fail(Errc::kUnsupported, "cannot read samples of type {:#x}", layout.sample_type);
  origin.event = known->event;

  if (header.type == PERF_RECORD_SAMPLE) {
    auto sample = read_sample(in, layout, origin, header.misc);
    if (!in.ok()) return fail(Errc::kCorrupt, "sample of {} bytes is truncated", header.size);
    return sample;
  }
  const std::size_t tail_size =
      layout.sample_id_all
          ? 8 * static_cast<std::size_t>(std::popcount(layout.sample_type & kTailBits))
          : 0;
  if (body.size() < tail_size)
    return fail(Errc::kCorrupt, "perf record of type {} is truncated", header.type);
  if (tail_size > 0) {
    ByteReader tail{body.last(tail_size)};
    read_common(tail, layout.sample_type, origin);
    read_ids(tail, layout.sample_type, origin);
  }
  ByteReader fields{body.first(body.size() - tail_size)};
  auto value = read_other(fields, header.type, header.misc);
  if (!fields.ok()) return fail(Errc::kCorrupt, "perf record of type {} is truncated", header.type);
  std::visit([&](auto& r) { r.origin = origin; }, value);
  return value;
}

}  // namespace clrscope::collect::perf
