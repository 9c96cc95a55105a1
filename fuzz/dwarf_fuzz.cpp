// The reader of DWARF line programs, over bytes that claim to be an ELF file with them, or to be
// .debug_line itself.
//
// The corpus is described in tests/data/dwarf/.
#include <cstdint>

#include "symbols/dwarf_lines.h"

namespace {

using namespace clrscope;

void look(const DwarfLines& lines) {
  for (const std::uint64_t vaddr : {0ULL, 1ULL, 0x300ULL, 0x1030ULL, 0x1070ULL, ~0ULL})
    if (const auto place = lines.find(vaddr)) CHECK(place->line > 0 && !place->file.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  if (const auto file = ElfFile::parse(bytes))
    if (const auto lines = DwarfLines::of(*file)) {
      look(*lines);
      (void)lines->rows();
    }
  look(DwarfLines{{.line = bytes, .line_strings = bytes, .strings = bytes}});
  return 0;
}
