// The output file of an artifact: its name, and the open file.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "model/process.h"

namespace clrscope::ops {

// "%p" pid, "%n" name, "%t" time; a folder gets the default name inside it; empty is the default
// name here.
std::string expand_output(const std::string& wanted, const Process& process,
                          const std::string& extension);

// What is compressed says so by its name, which gains ".zst" where it does not end so; but "-", a
// pipe or a device keeps its own.
std::string compressed_name(std::string path);

// "-" is stdout, unless that is a terminal.
Result<UniqueFd> open_output(const std::string& path);

// The folder that a path lies in, for files beside it; that of temporary files for "-".
std::string folder_of(const std::string& path);

}  // namespace clrscope::ops
