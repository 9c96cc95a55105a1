// A piece of memory as a gzip file, for formats that are defined as one. Streams: base/compress.h.
#pragma once

#include <string>

#include "base/bytes.h"

namespace clrscope {

// Without a name and a time: the same bytes give the same file.
std::string gzip(Bytes plain);

}  // namespace clrscope
