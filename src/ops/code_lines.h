// Source lines of managed code in a process that runs, read from outside: its memory says which IL
// an address came from, a portable PDB the line. Nothing is loaded into the process, no thread is
// stopped.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "symbols/line_at.h"

namespace clrscope::ops {

// Keeps the process's memory and PDBs open as long as it exists. For one thread at a time.
// `start_ticks`: with the pid it identifies the process; 0: unknown.
Result<LineAt> open_code_lines(pid_t pid, std::uint64_t start_ticks);

}  // namespace clrscope::ops
