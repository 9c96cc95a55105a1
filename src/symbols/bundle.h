// The files inside a .NET application that was published as one file.
//
// Such a program is an ELF file with others appended and a list of them. Reads bytes that may be
// hostile; does no I/O. Format: the host's bundle header, versions 2 (.NET 5) and 6 (.NET 6 on).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

// A copy of the file of that name, unpacked. kNotFound when the program has no such file inside, or
// none at all.
Result<std::vector<std::uint8_t>> file_in_bundle(Bytes program, std::string_view name);

}  // namespace clrscope
