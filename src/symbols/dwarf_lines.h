// Address to source line in native code: the line programs of .debug_line, DWARF 2 to 5.
//
// The programs are run once to learn which of them covers which addresses, and one of them again
// for each question: so that a library with millions of rows costs no memory. Reads bytes that may
// be hostile: a program that makes no sense ends where it stops making any. Owns nothing but
// sections that were compressed; the bytes must stay as long as it is asked. Paths are as the
// compiler wrote them, and relative where it left them so. Format: DWARF 5 section 6.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "symbols/elf.h"
#include "symbols/portable_pdb.h"

namespace clrscope {

// The sections that line programs need; plain bytes.
struct DwarfSections {
  Bytes line{};
  Bytes line_strings{};  // .debug_line_str, of DWARF 5
  Bytes strings{};       // .debug_str
};

class DwarfLines {
 public:
  static constexpr std::uint64_t kMostRows = 50'000'000;  // more in one file are an attack
  explicit DwarfLines(const DwarfSections& sections, std::uint64_t most_rows = kMostRows);
  // Of a file that has the sections, compressed or not; fails when it has no .debug_line.
  static Result<DwarfLines> of(const ElfFile& file);

  DwarfLines(DwarfLines&&) = default;
  DwarfLines& operator=(DwarfLines&&) = default;

  std::optional<SourceLine> find(std::uint64_t vaddr) const;

  // Every row, as the programs give them, for comparison with others.
  struct Row {
    std::uint64_t vaddr = 0;
    std::string file;
    std::uint32_t line = 0;
    bool end = false;  // the first address behind a sequence
  };
  std::vector<Row> rows() const;

  std::size_t damaged() const { return damaged_; }  // programs that were left

 private:
  struct Sequence {  // addresses without a gap
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t max_end = 0;  // of this one and all before it
    std::uint32_t unit = 0;     // offset of its program
  };

  std::vector<std::vector<std::uint8_t>> inflated_;
  DwarfSections sections_;
  std::vector<Sequence> sequences_;  // by start
  std::size_t damaged_ = 0;
};

}  // namespace clrscope
