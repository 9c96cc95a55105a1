#include "symbols/pe.h"

#include <algorithm>

namespace clrscope {
namespace {

constexpr std::uint16_t kAmd64 = 0x8664;
constexpr std::uint16_t kLinux = 0x7b79;  // ReadyToRun code for Linux: the machine xor this
constexpr std::uint16_t kPe32 = 0x10b;
constexpr std::uint16_t kPe32Plus = 0x20b;

}  // namespace

Result<PeFile> PeFile::parse(Bytes bytes) {
  auto file = TRY(parse_any(bytes));
  if ((file.machine_ != kAmd64 && file.machine_ != (kAmd64 ^ kLinux)) || !file.wide_)
    return fail(Errc::kUnsupported, "a PE file of machine {:#x}, not x86-64", file.machine_);
  return file;
}

Result<PeFile> PeFile::parse_any(Bytes bytes) {
  const auto at = [&](std::uint64_t offset) {
    return ByteReader{offset < bytes.size() ? bytes.subspan(offset) : Bytes{}};
  };
  if (bytes.size() < 0x40 || bytes[0] != 'M' || bytes[1] != 'Z')
    return fail(Errc::kCorrupt, "not a PE file");
  const std::uint64_t header = at(0x3c).read<std::uint32_t>();
  auto in = at(header);
  if (in.read<std::uint32_t>() != 0x4550) return fail(Errc::kCorrupt, "not a PE file");
  const auto machine = in.read<std::uint16_t>();
  const auto section_count = in.read<std::uint16_t>();
  in.skip(12);
  const auto optional_size = in.read<std::uint16_t>();
  in.skip(2);
  const auto optional = header + in.offset();
  const auto magic = in.read<std::uint16_t>();
  if (!in.ok()) return fail(Errc::kCorrupt, "a truncated PE file");
  if (magic != kPe32 && magic != kPe32Plus)
    return fail(Errc::kUnsupported, "a PE file with an optional header {:#x}", magic);

  PeFile file{bytes};
  file.machine_ = machine;
  file.wide_ = magic == kPe32Plus;
  const std::uint32_t fixed = file.wide_ ? 112 : 96;
  auto directories = at(optional + fixed - 4);
  const auto count = std::min<std::uint32_t>(directories.read<std::uint32_t>(), 16);
  for (std::uint32_t i = 0; i < count && fixed + 8 * (i + 1) <= optional_size; ++i) {
    const PeDirectory directory{.rva = directories.read<std::uint32_t>(),
                                .size = directories.read<std::uint32_t>()};
    if (!directories.ok()) break;
    file.directories_.push_back(directory);
  }
  auto sections = at(optional + optional_size);
  for (std::uint16_t i = 0; i < section_count; ++i) {
    sections.skip(8);
    PeSection section;
    section.memory_size = sections.read<std::uint32_t>();
    section.rva = sections.read<std::uint32_t>();
    section.file_size = sections.read<std::uint32_t>();
    section.file_offset = sections.read<std::uint32_t>();
    sections.skip(12);
    section.flags = sections.read<std::uint32_t>();
    if (!sections.ok()) break;
    file.sections_.push_back(section);
  }
  return file;
}

Bytes PeFile::bytes_at(std::uint32_t rva) const {
  for (const auto& s : sections_) {
    if (rva < s.rva || rva - s.rva >= s.file_size) continue;
    const std::uint64_t start = std::uint64_t{s.file_offset} + (rva - s.rva);
    if (start >= bytes_.size()) return {};
    const std::uint64_t left = s.file_size - (rva - s.rva);
    return bytes_.subspan(start, std::min<std::uint64_t>(left, bytes_.size() - start));
  }
  return {};
}

std::optional<std::uint32_t> PeFile::rva_of_offset(std::uint64_t file_offset) const {
  constexpr std::uint32_t kPage = 4096;
  const PeSection* best = nullptr;
  for (const auto& s : sections_) {
    const auto skew = std::min(s.file_offset % kPage, s.rva);
    const auto start = s.file_offset - skew;
    if (s.file_size == 0 || file_offset < start) continue;
    if (file_offset - start >= std::uint64_t{s.file_size} + skew) continue;
    // A page may hold the end of one section and the start of the next: code counts.
    if (!best || (s.flags & 0x20000000) != 0) best = &s;
  }
  if (!best) return std::nullopt;
  const auto skew = std::min(best->file_offset % kPage, best->rva);
  return best->rva - skew + static_cast<std::uint32_t>(file_offset - (best->file_offset - skew));
}

}  // namespace clrscope
