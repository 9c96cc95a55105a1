// What an ELF file (64-bit, little-endian, x86-64) says of itself: segments, sections, symbols,
// build-id, and where its unwind tables lie.
//
// Reads bytes that may be hostile: every offset and size is checked before use, and what runs past
// the file is as if it were not there. Does no I/O and owns nothing: all that it returns lives as
// long as the bytes it was given.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

struct ElfSegment {
  std::uint32_t type = 0;   // PT_LOAD, …
  std::uint32_t flags = 0;  // PF_X, …
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
};

struct ElfSection {
  std::string_view name{};
  std::uint32_t type = 0;   // SHT_SYMTAB, …
  std::uint64_t flags = 0;  // SHF_EXECINSTR, …
  std::uint64_t vaddr = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  Bytes bytes{};  // empty for SHT_NOBITS and for what runs past the file
};

struct ElfSymbol {
  std::string_view name{};
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint8_t type = 0;     // STT_FUNC, …
  std::uint8_t binding = 0;  // STB_GLOBAL, …
  std::uint16_t section = 0;
};

// A piece of the file and the address where it is meant to lie.
struct ElfPiece {
  Bytes bytes{};
  std::uint64_t vaddr = 0;
};

struct ElfDebugLink {
  std::string_view file{};
  std::uint32_t crc = 0;
};

class ElfFile {
 public:
  // Fails when the header is none of an x86-64 ELF file; what else is broken is left out.
  static Result<ElfFile> parse(Bytes bytes);

  const std::vector<ElfSegment>& segments() const { return segments_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;

  // The build-id as lower-case hex; empty when there is none.
  std::string build_id() const;
  std::optional<ElfDebugLink> debug_link() const;

  // .symtab and .dynsym; empty when absent. Undefined symbols and those without a name are left
  // out.
  std::vector<ElfSymbol> symbols() const { return symbols_of(kSymtab); }
  std::vector<ElfSymbol> dynamic_symbols() const { return symbols_of(kDynsym); }
  using OnSymbol = std::function<void(const ElfSymbol&)>;
  void for_each_symbol(const OnSymbol& use) const { for_each_symbol_of(kSymtab, use); }
  void for_each_dynamic_symbol(const OnSymbol& use) const { for_each_symbol_of(kDynsym, use); }

  // Found by section, or by the PT_GNU_EH_FRAME segment when the sections were stripped.
  std::optional<ElfPiece> eh_frame_hdr() const;
  std::optional<ElfPiece> eh_frame() const;

  // The bytes from an address to the end of its segment's part of the file.
  Bytes bytes_at(std::uint64_t vaddr) const;
  // True when the address is in an executable section (or segment, without sections).
  bool is_code(std::uint64_t vaddr) const;

 private:
  explicit ElfFile(Bytes bytes) : bytes_(bytes) {}
  void read_segments(std::uint64_t offset, std::size_t entry_size, std::size_t count);
  void read_sections(std::uint64_t offset, std::size_t entry_size, std::size_t count,
                     std::size_t names);
  static constexpr std::uint32_t kSymtab = 2, kDynsym = 11;  // types of sections
  std::vector<ElfSymbol> symbols_of(std::uint32_t section_type) const;
  void for_each_symbol_of(std::uint32_t section_type, const OnSymbol& use) const;
  Bytes build_id_note() const;

  Bytes bytes_;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSection> sections_;
};

// The address that an executable mapping of this part of the file has in the file's own terms;
// nothing when no executable segment holds it.
std::optional<std::uint64_t> code_vaddr_of_offset(const std::vector<ElfSegment>& segments,
                                                  std::uint64_t file_offset);

}  // namespace clrscope
