#include "inspect/assembly_file.h"

#include <memory>

#include "inspect/contract/metadata.h"
#include "symbols/pe.h"

namespace clrscope::inspect {

Result<bool> is_debug_build(Bytes file) {
  const auto image = TRY(PeFile::parse_any(file));
  if (image.clr_header().rva == 0)
    return fail(Errc::kUnsupported, "a PE file without managed code");
  ByteReader header{image.bytes_at(image.clr_header().rva)};
  header.skip(8);  // its size, the runtime's version
  const auto rva = header.read<std::uint32_t>();
  const auto size = header.read<std::uint32_t>();
  const auto rest = image.bytes_at(rva);
  if (!header.ok() || size > rest.size())
    return fail(Errc::kCorrupt, "a PE file whose metadata is not there");
  auto metadata = TRY(Metadata::open(std::make_unique<WholeMetadata>(rest.first(size))));
  return metadata.forbids_optimization();
}

}  // namespace clrscope::inspect
