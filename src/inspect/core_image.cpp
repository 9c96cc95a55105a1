#include "inspect/core_image.h"

#include <elf.h>

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kMostSegments = 1 << 20;
constexpr std::uint64_t kMostNoteBytes = 64 << 20;

}  // namespace

// What there is of [offset, offset + size).
std::vector<std::uint8_t> CoreImage::piece(std::uint64_t offset, std::uint64_t size) const {
  if (offset >= size_) return {};
  std::vector<std::uint8_t> bytes(std::min(size, size_ - offset));
  bytes.resize(std::min(bytes.size(), read_at_(offset, bytes)));
  return bytes;
}

Result<CoreImage> CoreImage::parse(ReadAt read_at, std::uint64_t size) {
  CoreImage core{std::move(read_at), size};
  TRY(core.read_headers());
  core.note_syscalls();
  return core;
}

Result<> CoreImage::read_headers() {
  const auto start = piece(0, sizeof(Elf64_Ehdr));
  ByteReader in{start};
  const auto header = in.read<Elf64_Ehdr>();
  if (!in.ok()) return fail(Errc::kCorrupt, "{} bytes are too few for a core", size_);
  if (as_text(Bytes{header.e_ident, 4}) != std::string_view{ELFMAG, SELFMAG})
    return fail(Errc::kCorrupt, "not an ELF file");
  if (header.e_type != ET_CORE) return fail(Errc::kUnsupported, "an ELF file that is not a core");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return fail(Errc::kUnsupported, "a core of machine {}, not x86-64", header.e_machine);
  if (header.e_phentsize != sizeof(Elf64_Phdr))
    return fail(Errc::kCorrupt, "its program headers have {} bytes", header.e_phentsize);
  std::uint64_t count = header.e_phnum;
  if (count == PN_XNUM) {  // too many for the header: the first section says
    const auto section = piece(header.e_shoff, sizeof(Elf64_Shdr));
    count = ByteReader{section}.read<Elf64_Shdr>().sh_info;
  }
  const auto table = piece(header.e_phoff, std::min(count, kMostSegments) * sizeof(Elf64_Phdr));
  ByteReader headers{table};
  std::vector<std::uint8_t> notes;
  while (headers.remaining() >= sizeof(Elf64_Phdr)) {
    const auto h = headers.read<Elf64_Phdr>();
    const auto end = h.p_offset + h.p_filesz;
    const auto memory = std::max(h.p_memsz, h.p_filesz);
    if (end < h.p_offset || h.p_vaddr + memory < h.p_vaddr) continue;
    promised_ = std::max(promised_, end);
    if (h.p_type == PT_NOTE && notes.size() < kMostNoteBytes) {
      const auto more = piece(h.p_offset, std::min(h.p_filesz, kMostNoteBytes));
      notes.insert(notes.end(), more.begin(), more.end());
    }
    if (h.p_type != PT_LOAD || memory == 0) continue;
    const auto there = h.p_offset < size_ ? std::min(h.p_filesz, size_ - h.p_offset) : 0;
    segments_.push_back({.start = h.p_vaddr,
                         .end = h.p_vaddr + there,
                         .whole = h.p_vaddr + memory,
                         .offset = h.p_offset,
                         .flags = h.p_flags});
  }
  std::ranges::stable_sort(segments_, {}, &Segment::start);
  std::uint64_t last = 0;
  std::erase_if(segments_, [&](const Segment& segment) {
    const bool overlaps = segment.start < last;
    if (!overlaps) last = segment.whole;
    return overlaps;
  });
  notes_ = CoreNotes::parse(notes);
  if (segments_.empty() && notes_.threads.empty())
    return fail(Errc::kCorrupt, "it is truncated before its first memory segment");
  return {};
}

const CoreImage::Segment* CoreImage::segment_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(segments_, address, {}, &Segment::start);
  if (after == segments_.begin()) return nullptr;
  const auto& segment = *std::prev(after);
  return address < segment.end ? &segment : nullptr;
}

std::size_t CoreImage::read(std::uint64_t address, std::span<std::uint8_t> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto at = address + done;
    const auto* segment = segment_at(at);
    if (!segment) break;
    const auto size = std::min<std::uint64_t>(out.size() - done, segment->end - at);
    const auto got = read_at_(segment->offset + (at - segment->start), out.subspan(done, size));
    done += std::min<std::size_t>(got, size);
    if (got < size) break;
  }
  return done;
}

std::uint64_t CoreImage::gap_at(std::uint64_t address) const {
  if (segment_at(address)) return 0;
  const auto after = std::ranges::upper_bound(segments_, address, {}, &Segment::start);
  return (after == segments_.end() ? ~std::uint64_t{0} : after->start) - address;
}

// A number is left beside the registers when a thread is interrupted elsewhere, too: only right
// after the instruction it is a system call's.
void CoreImage::note_syscalls() {
  for (auto& thread : notes_.threads) {
    std::uint8_t code[2] = {0x0f, 0x05};  // believed where the code was left out of the core
    const auto at = thread.registers[unwind::kRip] - 2;
    if (gap_at(at) == 0) (void)read(at, code);
    if (code[0] != 0x0f || code[1] != 0x05) thread.syscall.reset();
  }
}

std::vector<Mapping> CoreImage::mappings() const {
  std::vector<Mapping> mappings;
  for (const auto& file : notes_.files)
    mappings.push_back(
        {.start = file.start, .end = file.end, .file_offset = file.file_offset, .path = file.path});
  const auto files = mappings.size();
  for (const auto& segment : segments_) {
    const bool executable = (segment.flags & PF_X) != 0;
    const bool writable = (segment.flags & PF_W) != 0;
    // The files that lie in it get its protection; what is left of it is anonymous.
    auto start = segment.start;
    const auto first = std::ranges::upper_bound(notes_.files, start, {}, &CoreFile::end);
    for (auto at = static_cast<std::size_t>(first - notes_.files.begin());; ++at) {
      const auto next = at < files ? std::min(mappings[at].start, segment.whole) : segment.whole;
      if (start < next)
        mappings.push_back({.start = start,
                            .end = next,
                            .path = notes_.vdso == start ? "[vdso]" : "",
                            .executable = executable,
                            .writable = writable});
      if (next == segment.whole) break;
      mappings[at].executable |= executable;
      mappings[at].writable |= writable;
      start = mappings[at].end;
      if (start >= segment.whole) break;
    }
  }
  std::ranges::sort(mappings, {}, &Mapping::start);
  // Cores of a few pages have many pieces of one mapping.
  std::vector<Mapping> merged;
  for (auto& mapping : mappings) {
    auto* const last = merged.empty() ? nullptr : &merged.back();
    if (last && last->path.empty() && mapping.path.empty() && last->end == mapping.start &&
        last->executable == mapping.executable && last->writable == mapping.writable)
      last->end = mapping.end;
    else
      merged.push_back(std::move(mapping));
  }
  return merged;
}

}  // namespace clrscope::inspect
