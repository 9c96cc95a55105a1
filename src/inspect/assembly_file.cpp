#include "inspect/assembly_file.h"

#include "symbols/metadata.h"
#include "symbols/pe.h"

namespace clrscope::inspect {

Result<bool> is_debug_build(Bytes file) {
  const auto image = TRY(PeFile::parse_any(file));
  auto metadata = TRY(metadata_of(image));
  return metadata.forbids_optimization();
}

}  // namespace clrscope::inspect
