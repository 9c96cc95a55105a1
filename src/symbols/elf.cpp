#include "symbols/elf.h"

#include <elf.h>

#include <algorithm>

namespace clrscope {
namespace {

constexpr std::size_t kMaxSections = 65536;

// What of [offset, offset + size) the file holds: all of it or nothing.
Bytes piece(Bytes file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) return {};
  return file.subspan(offset, size);
}

std::string_view text_at(Bytes strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto rest = as_text(strings.subspan(offset));
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

constexpr std::uint64_t aligned4(std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; }

// The descriptor of the GNU build-id note among others.
Bytes find_build_id(Bytes notes) {
  ByteReader in{notes};
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = in.read<Elf64_Nhdr>();
    const auto name = in.take(aligned4(header.n_namesz));
    const auto body = in.take(header.n_descsz);
    if (!in.ok()) return {};
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        as_text(name) == std::string_view{"GNU\0", 4})
      return body;
    in.skip(std::min<std::size_t>(in.remaining(), aligned4(header.n_descsz) - header.n_descsz));
  }
  return {};
}

}  // namespace

Result<ElfFile> ElfFile::parse(Bytes bytes) {
  ByteReader in{bytes};
  const auto header = in.read<Elf64_Ehdr>();
  if (!in.ok()) return fail(Errc::kCorrupt, "{} bytes are too few for an ELF file", bytes.size());
  if (as_text(Bytes{header.e_ident, 4}) != std::string_view{ELFMAG, SELFMAG})
    return fail(Errc::kCorrupt, "not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return fail(Errc::kUnsupported, "not a 64-bit little-endian ELF file");
  if (header.e_machine != EM_X86_64)
    return fail(Errc::kUnsupported, "an ELF file of machine {}, not x86-64", header.e_machine);
  ElfFile file{bytes};
  file.read_segments(header.e_phoff, header.e_phentsize, header.e_phnum);
  file.read_sections(header.e_shoff, header.e_shentsize, header.e_shnum, header.e_shstrndx);
  return file;
}

void ElfFile::read_segments(std::uint64_t offset, std::size_t entry_size, std::size_t count) {
  const auto table = piece(bytes_, offset, std::uint64_t{entry_size} * count);
  if (entry_size < sizeof(Elf64_Phdr)) return;
  segments_.reserve(table.size() / entry_size);
  for (std::size_t at = 0; at + entry_size <= table.size(); at += entry_size) {
    const auto h = ByteReader{table.subspan(at)}.read<Elf64_Phdr>();
    segments_.push_back({.type = h.p_type,
                         .flags = h.p_flags,
                         .offset = h.p_offset,
                         .vaddr = h.p_vaddr,
                         .file_size = h.p_filesz,
                         .memory_size = h.p_memsz});
  }
}

void ElfFile::read_sections(std::uint64_t offset, std::size_t entry_size, std::size_t count,
                            std::size_t names) {
  if (entry_size < sizeof(Elf64_Shdr) || offset == 0) return;
  if (count == 0 || names == SHN_XINDEX) {  // too many for the header: the first section says
    const auto first = piece(bytes_, offset, sizeof(Elf64_Shdr));
    if (first.empty()) return;
    const auto h = ByteReader{first}.read<Elf64_Shdr>();
    if (count == 0) count = std::min<std::uint64_t>(h.sh_size, kMaxSections);
    if (names == SHN_XINDEX) names = h.sh_link;
  }
  const auto table = piece(bytes_, offset, std::uint64_t{entry_size} * count);
  std::vector<std::uint32_t> name_offsets;
  name_offsets.reserve(table.size() / entry_size);
  sections_.reserve(table.size() / entry_size);
  for (std::size_t at = 0; at + entry_size <= table.size(); at += entry_size) {
    const auto h = ByteReader{table.subspan(at)}.read<Elf64_Shdr>();
    name_offsets.push_back(h.sh_name);
    sections_.push_back(
        {.type = h.sh_type,
         .flags = h.sh_flags,
         .vaddr = h.sh_addr,
         .size = h.sh_size,
         .link = h.sh_link,
         .bytes = h.sh_type == SHT_NOBITS ? Bytes{} : piece(bytes_, h.sh_offset, h.sh_size)});
  }
  if (names >= sections_.size()) return;
  const auto strings = sections_[names].bytes;
  for (std::size_t i = 0; i < sections_.size(); ++i)
    sections_[i].name = text_at(strings, name_offsets[i]);
}

const ElfSection* ElfFile::section(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const ElfSection& s) { return s.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

Bytes ElfFile::build_id_note() const {
  for (const auto& s : sections_) {
    if (s.type != SHT_NOTE) continue;
    if (const auto id = find_build_id(s.bytes); !id.empty()) return id;
  }
  for (const auto& s : segments_) {
    if (s.type != PT_NOTE) continue;
    if (const auto id = find_build_id(piece(bytes_, s.offset, s.file_size)); !id.empty()) return id;
  }
  return {};
}

std::string ElfFile::build_id() const {
  constexpr std::size_t kLongest = 64;
  const auto id = build_id_note();
  if (id.size() > kLongest) return {};
  std::string hex;
  for (const auto byte : id) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::optional<ElfDebugLink> ElfFile::debug_link() const {
  const auto* link = section(".gnu_debuglink");
  if (!link) return std::nullopt;
  const auto file = text_at(link->bytes, 0);
  const auto crc = piece(link->bytes, aligned4(file.size() + 1), 4);
  // A name, not a path: it is looked for in folders that we choose.
  if (file.empty() || file.find('/') != std::string_view::npos || crc.empty()) return std::nullopt;
  return ElfDebugLink{.file = file, .crc = ByteReader{crc}.read<std::uint32_t>()};
}

std::vector<ElfSymbol> ElfFile::symbols_of(std::uint32_t section_type) const {
  std::vector<ElfSymbol> symbols;
  for_each_symbol_of(section_type, [&](const ElfSymbol& symbol) { symbols.push_back(symbol); });
  return symbols;
}

void ElfFile::for_each_symbol_of(std::uint32_t section_type, const OnSymbol& use) const {
  for (const auto& s : sections_) {
    if (s.type != section_type || s.link >= sections_.size()) continue;
    const auto strings = sections_[s.link].bytes;
    ByteReader in{s.bytes};
    while (in.remaining() >= sizeof(Elf64_Sym)) {
      const auto sym = in.read<Elf64_Sym>();
      const auto name = text_at(strings, sym.st_name);
      if (sym.st_shndx == SHN_UNDEF || name.empty()) continue;
      use({.name = name,
           .value = sym.st_value,
           .size = sym.st_size,
           .type = static_cast<std::uint8_t>(ELF64_ST_TYPE(sym.st_info)),
           .binding = static_cast<std::uint8_t>(ELF64_ST_BIND(sym.st_info)),
           .section = sym.st_shndx});
    }
  }
}

std::optional<ElfPiece> ElfFile::eh_frame_hdr() const {
  if (const auto* s = section(".eh_frame_hdr"); s && !s->bytes.empty())
    return ElfPiece{s->bytes, s->vaddr};
  for (const auto& s : segments_)
    if (s.type == PT_GNU_EH_FRAME)
      if (const auto bytes = piece(bytes_, s.offset, s.file_size); !bytes.empty())
        return ElfPiece{bytes, s.vaddr};
  return std::nullopt;
}

std::optional<ElfPiece> ElfFile::eh_frame() const {
  if (const auto* s = section(".eh_frame"); s && !s->bytes.empty())
    return ElfPiece{s->bytes, s->vaddr};
  // Without sections: the header's second field is a pointer to it, relative to itself.
  const auto header = eh_frame_hdr();
  if (!header || header->bytes.size() < 8 || header->bytes[1] != 0x1b) return std::nullopt;
  const auto distance = ByteReader{header->bytes.subspan(4)}.read<std::int32_t>();
  const auto vaddr = header->vaddr + 4 + static_cast<std::uint64_t>(std::int64_t{distance});
  const auto bytes = bytes_at(vaddr);
  if (bytes.empty()) return std::nullopt;
  return ElfPiece{bytes, vaddr};
}

std::optional<std::uint64_t> code_vaddr_of_offset(const std::vector<ElfSegment>& segments,
                                                  std::uint64_t file_offset) {
  constexpr std::uint64_t kPage = 4096;
  for (const auto& s : segments) {
    // A mapping begins with the page in which the segment begins; the page's first bytes may belong
    // to another segment too, with another address: hence executable ones only.
    const auto skew = s.offset % kPage;
    const auto start = s.offset - skew;
    if (s.type != PT_LOAD || (s.flags & PF_X) == 0 || file_offset < start) continue;
    if (file_offset - start < s.file_size + skew) return s.vaddr - skew + (file_offset - start);
  }
  return std::nullopt;
}

Bytes ElfFile::bytes_at(std::uint64_t vaddr) const {
  for (const auto& s : segments_) {
    if (s.type != PT_LOAD || vaddr < s.vaddr || vaddr - s.vaddr >= s.file_size) continue;
    return piece(piece(bytes_, s.offset, s.file_size), vaddr - s.vaddr,
                 s.file_size - (vaddr - s.vaddr));
  }
  return {};
}

bool ElfFile::is_code(std::uint64_t vaddr) const {
  for (const auto& s : sections_)
    if ((s.flags & SHF_EXECINSTR) != 0 && vaddr >= s.vaddr && vaddr - s.vaddr < s.size) return true;
  if (!sections_.empty()) return false;
  return std::any_of(segments_.begin(), segments_.end(), [&](const ElfSegment& s) {
    return s.type == PT_LOAD && (s.flags & PF_X) != 0 && vaddr >= s.vaddr &&
           vaddr - s.vaddr < s.memory_size;
  });
}

}  // namespace clrscope
