// The readers of portable PDBs and of what modules say of them, over bytes that claim to be either.
//
// The corpus is described in tests/data/pdb/.
#include <cstdint>

#include "symbols/bundle.h"
#include "symbols/pdb_file.h"

namespace {

using namespace clrscope;

void read_pdb(const PortablePdb& pdb) {
  constexpr std::uint32_t kEnough = 64;
  for (std::uint32_t row = 0; row <= std::min(pdb.method_count() + 1, kEnough); ++row) {
    const auto token = 0x06000000 | row;
    for (const auto& point : pdb.points(token))
      CHECK(point.line <= 0x1fffffff && point.il_offset <= 0x1fffffff);
    (void)pdb.line_of(token, 10);
  }
  for (std::uint32_t row = 0; row <= std::min(pdb.document_count() + 1, kEnough); ++row)
    CHECK(pdb.document_name(row).size() <= 3 * 4096);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  if (const auto pdb = PortablePdb::parse(bytes)) read_pdb(*pdb);
  if (const auto module = PeFile::parse_any(bytes)) {
    (void)pdb_reference(*module);
    if (const auto inside = embedded_pdb(*module, "x.dll")) read_pdb(inside->pdb());
  }
  if (const auto file = file_in_bundle(bytes, "x.dll")) CHECK(file->size() <= std::size_t{1} << 30);
  return 0;
}
