#include "symbols/elf_frames.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace clrscope {
namespace {

constexpr std::uint8_t kOmit = 0xff;
constexpr std::size_t kMaxRecords = 4'000'000;
constexpr std::uint64_t kLongestNeeded = 1 << 20;  // of records that are read one by one

Bytes take_text(ByteReader& in) {
  const auto rest = in.remaining();
  auto look = in;
  for (std::size_t size = 0; size < rest; ++size)
    if (look.read<std::uint8_t>() == 0) {
      const auto text = in.take(size);
      in.skip(1);
      return text;
    }
  in.fail();
  return {};
}

// A CIE from after its id field on.
std::optional<FrameCie> read_cie(Bytes body, std::uint64_t vaddr) {
  ByteReader in{body};
  FrameCie cie;
  const auto version = in.read<std::uint8_t>();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  const auto augmentation = as_text(take_text(in));
  if (version == 4) {
    if (in.read<std::uint8_t>() != 8) return std::nullopt;  // bytes of an address
    in.skip(1);                                             // of a segment selector
  }
  cie.code_align = in.read_varuint();
  cie.data_align = read_sleb(in);
  cie.return_register = version == 1 ? in.read<std::uint8_t>() : in.read_varuint();
  if (!augmentation.empty()) {
    if (augmentation[0] != 'z') return std::nullopt;  // of unknown size: nothing after is certain
    cie.augmented = true;
    const auto size = in.read_varuint();
    const auto at = in.offset();
    ByteReader data{in.take(size)};
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R') cie.pointer_encoding = data.read<std::uint8_t>();
      if (letter == 'L') data.skip(1);
      if (letter == 'S') cie.signal_frame = true;
      if (letter == 'P') {
        const auto encoding = data.read<std::uint8_t>();
        // Where the personality routine is does not matter, only how long the pointer is.
        (void)read_encoded_pointer(data, encoding & 0x0f, vaddr + at);
      }
    }
    if (!data.ok()) return std::nullopt;
  }
  cie.program = in.rest();
  if (!in.ok()) return std::nullopt;
  return cie;
}

constexpr auto kByAddress = [](const auto& a, const auto& b) {
  return a.start != b.start ? a.start < b.start : a.end < b.end;
};

class RecordReader {
 public:
  explicit RecordReader(const ElfPiece& section, const NeedBytes* need = nullptr)
      : section_(section), need_(need) {}

  FrameRecords run() && {
    for_each([this](const FrameFde& fde) { out_.fdes.push_back(fde); });
    return std::move(*this).sorted();
  }
  std::vector<FrameRange> run_for_ranges() && {
    std::vector<FrameRange> ranges;
    for_each([&](const FrameFde& fde) { ranges.push_back({fde.start, fde.end}); });
    std::sort(ranges.begin(), ranges.end(), kByAddress);
    return ranges;
  }
  // The record at an address alone.
  void read_at(std::uint64_t vaddr) {
    if (vaddr < section_.vaddr || vaddr - section_.vaddr >= section_.bytes.size()) return;
    ByteReader in{section_.bytes};
    in.skip(vaddr - section_.vaddr);
    if (need_ && !need_record(in.offset())) return;
    (void)read_record(in, [this](const FrameFde& fde) { out_.fdes.push_back(fde); });
  }
  FrameRecords sorted() && {
    std::sort(out_.fdes.begin(), out_.fdes.end(), kByAddress);
    return std::move(out_);
  }

 private:
  template <class Take>
  void for_each(const Take& take) {
    ByteReader in{section_.bytes};
    for (std::size_t count = 0; in.remaining() >= 4 && count < kMaxRecords; ++count)
      if (!read_record(in, take)) break;
  }

  // Has the bytes of a record be read. False when it is longer than any.
  bool need_record(std::size_t offset) {
    const auto rest = section_.bytes.subspan(std::min(offset, section_.bytes.size()));
    (*need_)(rest.first(std::min<std::size_t>(rest.size(), 12)));
    ByteReader in{rest};
    std::uint64_t length = in.read<std::uint32_t>();
    if (length == 0xffffffff) length = in.read<std::uint64_t>();
    if (!in.ok() || length > kLongestNeeded || length > in.remaining()) {
      ++out_.damaged;
      return false;
    }
    (*need_)(rest.first(in.offset() + length));
    return true;
  }

  // False at the end.
  template <class Take>
  bool read_record(ByteReader& in, const Take& take) {
    std::uint64_t length = in.read<std::uint32_t>();
    if (length == 0)
      return in.remaining() >= 4;  // the end, but linkers may leave one between parts
    const bool wide = length == 0xffffffff;
    if (wide) length = in.read<std::uint64_t>();
    const auto id_at = in.offset();
    const auto record = in.take(length);
    if (in.ok()) {
      on_record(record, id_at, wide, take);
      return true;
    }
    ++out_.damaged;
    return false;
  }

  template <class Take>
  void on_record(Bytes record, std::size_t id_at, bool wide, const Take& take) {
    ByteReader in{record};
    const std::uint64_t id = wide ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
    if (in.ok() && id == 0) return;  // a CIE: read when an FDE names it
    const auto cie = in.ok() && id <= id_at ? cie_at(id_at - id) : std::nullopt;
    if (!cie || !on_fde(record, in.offset(), id_at, *cie, take)) ++out_.damaged;
  }

  template <class Take>
  bool on_fde(Bytes record, std::size_t after_id, std::size_t id_at, std::uint32_t cie_index,
              const Take& take) {
    const auto& cie = out_.cies[cie_index];
    ByteReader in{record};
    in.skip(after_id);
    const auto vaddr = section_.vaddr + id_at;
    FrameFde fde{.cie = cie_index};
    fde.start = read_encoded_pointer(in, cie.pointer_encoding, vaddr);
    fde.end = fde.start + read_encoded_pointer(in, cie.pointer_encoding & 0x0f, vaddr);
    if (cie.augmented) in.skip(in.read_varuint());
    fde.program = in.rest();
    if (!in.ok() || fde.end < fde.start) return false;
    if (fde.end != fde.start && fde.start != 0) take(fde);  // 0: discarded function
    return true;
  }

  std::optional<std::uint32_t> cie_at(std::size_t offset) {
    if (const auto known = known_.find(offset); known != known_.end()) return known->second;
    std::optional<std::uint32_t> index;
    if (auto cie = parse_cie(offset)) {
      index = static_cast<std::uint32_t>(out_.cies.size());
      out_.cies.push_back(*cie);
    }
    known_.emplace(offset, index);
    return index;
  }

  std::optional<FrameCie> parse_cie(std::size_t offset) {
    if (offset >= section_.bytes.size()) return std::nullopt;
    if (need_ && !need_record(offset)) return std::nullopt;
    ByteReader in{section_.bytes.subspan(offset)};
    std::uint64_t length = in.read<std::uint32_t>();
    const bool wide = length == 0xffffffff;
    if (wide) length = in.read<std::uint64_t>();
    const auto record_at = in.offset();
    ByteReader record{in.take(length)};
    const std::uint64_t id = wide ? record.read<std::uint64_t>() : record.read<std::uint32_t>();
    if (!in.ok() || !record.ok() || id != 0) return std::nullopt;
    const auto vaddr = section_.vaddr + offset + record_at + record.offset();
    return read_cie(record.rest(), vaddr);
  }

  ElfPiece section_;
  const NeedBytes* need_;  // null: all of it is there
  FrameRecords out_;
  std::unordered_map<std::size_t, std::optional<std::uint32_t>> known_;  // CIE by offset
};

}  // namespace

std::int64_t read_sleb(ByteReader& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = in.read<std::uint8_t>();
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    if ((byte & 0x40) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
    return static_cast<std::int64_t>(value);
  }
  in.fail();
  return 0;
}

std::uint64_t read_encoded_pointer(ByteReader& in, std::uint8_t encoding, std::uint64_t vaddr) {
  if (encoding == kOmit) return 0;
  const auto at = vaddr + in.offset();
  const auto widened = [](auto value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  };
  std::uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
      value = in.read<std::uint64_t>();
      break;
    case 0x01:
      value = in.read_varuint();
      break;
    case 0x02:
      value = in.read<std::uint16_t>();
      break;
    case 0x03:
      value = in.read<std::uint32_t>();
      break;
    case 0x09:
      value = widened(read_sleb(in));
      break;
    case 0x0a:
      value = widened(in.read<std::int16_t>());
      break;
    case 0x0b:
      value = widened(in.read<std::int32_t>());
      break;
    case 0x0c:
      value = in.read<std::uint64_t>();
      break;
    default:
      in.fail();
      return 0;
  }
  switch (encoding & 0xf0) {
    case 0x00:
      return value;
    case 0x10:
      return value + at;
    default:
      in.fail();
      return 0;
  }
}

FrameRecords read_frame_records(const ElfPiece& eh_frame) { return RecordReader{eh_frame}.run(); }

std::vector<FrameRange> read_frame_ranges(const ElfPiece& eh_frame) {
  return RecordReader{eh_frame}.run_for_ranges();
}

std::optional<FrameIndex> FrameIndex::of(const ElfPiece& header) {
  constexpr std::uint8_t kPcRelative32 = 0x1b, kUnsigned32 = 0x03, kHeaderRelative32 = 0x3b;
  ByteReader in{header.bytes};
  if (in.read<std::uint8_t>() != 1 || in.read<std::uint8_t>() != kPcRelative32 ||
      in.read<std::uint8_t>() != kUnsigned32 || in.read<std::uint8_t>() != kHeaderRelative32)
    return std::nullopt;
  in.skip(4);
  const std::size_t count = in.read<std::uint32_t>();
  if (!in.ok() || in.remaining() / sizeof(Entry) < count) return std::nullopt;
  return FrameIndex{header.vaddr, in.take(count * sizeof(Entry))};
}

FrameIndex::Place FrameIndex::at(std::size_t number) const {
  const auto entry = ByteReader{entries(number, 1)}.read<Entry>();
  const auto address_of = [this](std::int32_t distance) {
    return vaddr_ + static_cast<std::uint64_t>(std::int64_t{distance});
  };
  return {address_of(entry.function), address_of(entry.record)};
}

Bytes FrameIndex::entries(std::size_t first, std::size_t count) const {
  return entries_.subspan(first * sizeof(Entry), count * sizeof(Entry));
}

FrameRecords read_frame_records_at(const ElfPiece& eh_frame, std::span<const std::uint64_t> records,
                                   const NeedBytes& need) {
  RecordReader reader{eh_frame, &need};
  for (const auto record : records) reader.read_at(record);
  return std::move(reader).sorted();
}

std::optional<FrameRecords> find_frame_records(const ElfFile& file,
                                               std::span<const std::uint64_t> vaddrs) {
  const auto header = file.eh_frame_hdr();
  const auto eh_frame = file.eh_frame();
  const auto index = header && eh_frame ? FrameIndex::of(*header) : std::nullopt;
  if (!index) return std::nullopt;
  RecordReader reader{*eh_frame};
  std::uint64_t last = 0;
  for (const auto vaddr : vaddrs) {
    std::size_t low = 0;  // so many begin at or before it
    for (auto high = index->size(); low < high;) {
      const auto middle = low + (high - low) / 2;
      if (index->at(middle).function <= vaddr)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0) continue;
    if (const auto record = index->at(low - 1).record; record != last)
      reader.read_at(last = record);
  }
  return std::move(reader).sorted();
}

}  // namespace clrscope
