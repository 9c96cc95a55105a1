// The readers of ELF and PE files, over bytes that claim to be one: symbols, build-id, names and
// unwind tables.
//
// The corpus are small files made by hand, see tests/data/fuzz/elf/.
#include <cstdint>

#include "symbols/elf.h"
#include "symbols/native_names.h"
#include "symbols/pe.h"
#include "unwind/cfi_table.h"
#include "unwind/r2r_table.h"

namespace {

using namespace clrscope;

void look_everywhere(const unwind::UnwindTable& table) {
  std::uint64_t last = 0;
  for (const auto& row : table.rows()) {
    CHECK(row.address >= last);
    last = row.address;
    (void)table.find(table.base() + row.address);
  }
}

void read_elf(const ElfFile& file) {
  (void)file.build_id();
  (void)file.debug_link();
  (void)code_vaddr_of_offset(file.segments(), 0x1000);
  const auto names = NativeNames::of(file, &file);
  for (const auto& symbol : file.symbols()) (void)names.name_at(symbol.value);
  (void)names.name_at(0x1000);
  look_everywhere(unwind::make_cfi_table(file));
}

void read_pe(const PeFile& image) {
  (void)image.rva_of_offset(0x1000);
  (void)image.bytes_at(image.clr_header().rva);
  look_everywhere(unwind::make_r2r_table(image));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  if (const auto file = ElfFile::parse(bytes)) read_elf(*file);
  if (const auto image = PeFile::parse(bytes)) read_pe(*image);
  return 0;
}
