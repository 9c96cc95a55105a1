// The readers of ELF and PE files, over bytes that claim to be one: symbols, build-id, names and
// unwind tables.
//
// The corpus are small files made by hand, see tests/data/fuzz/elf/.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/elf.h"
#include "symbols/elf_frames.h"
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

std::vector<std::uint64_t> addresses_of(const unwind::UnwindTable& table) {
  std::vector<std::uint64_t> all;
  for (const auto& row : table.rows()) all.push_back(table.base() + row.address);
  return all;
}

// Record by record, as it is done with files too large to be read whole.
void read_records_by_index(const ElfFile& file) {
  constexpr std::size_t kMost = 1000;
  const auto header = file.eh_frame_hdr();
  const auto frames = file.eh_frame();
  const auto index = header && frames ? FrameIndex::of(*header) : std::nullopt;
  if (!index) return;
  std::vector<std::uint64_t> records;
  for (std::size_t i = 0; i < std::min(index->size(), kMost); ++i)
    records.push_back(index->at(i).record);
  const auto within = [&](Bytes piece) {
    CHECK(piece.empty() ||
          (piece.data() >= frames->bytes.data() &&
           piece.data() + piece.size() <= frames->bytes.data() + frames->bytes.size()));
  };
  look_everywhere(unwind::make_cfi_table(read_frame_records_at(*frames, records, within)));
}

void read_elf(const ElfFile& file) {
  (void)file.build_id();
  (void)file.debug_link();
  (void)code_vaddr_of_offset(file.segments(), 0x1000);
  const auto names = NativeNames::of(file, &file);
  for (const auto& symbol : file.symbols()) (void)names.name_at(symbol.value);
  (void)names.name_at(0x1000);
  const auto table = unwind::make_cfi_table(file);
  look_everywhere(table);
  look_everywhere(unwind::make_cfi_table(file, addresses_of(table)));
  read_records_by_index(file);
}

void read_pe(const PeFile& image) {
  (void)image.rva_of_offset(0x1000);
  (void)image.bytes_at(image.clr_header().rva);
  const auto table = unwind::make_r2r_table(image);
  look_everywhere(table);
  look_everywhere(unwind::make_r2r_table(image, addresses_of(table)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  if (const auto file = ElfFile::parse(bytes)) read_elf(*file);
  if (const auto image = PeFile::parse(bytes)) read_pe(*image);
  return 0;
}
