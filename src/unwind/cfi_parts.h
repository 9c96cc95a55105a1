// The unwind table of an open ELF file in parts of a few functions, read as they are asked for.
//
// The file's own index (.eh_frame_hdr) says where functions begin and where their records are.
#pragma once

#include <optional>

#include "unwind/lazy_table.h"

namespace clrscope::unwind {

// `fd` is lent for as long as parts are made. Nothing when the file has no index: its table can
// only be made whole.
std::optional<TableParts> cfi_parts(int fd);

}  // namespace clrscope::unwind
