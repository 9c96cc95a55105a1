// What a heap of ours says beyond what the format has a place for, as one text at the end of the
// file, which other readers skip. Lines: docs/formats/gcdump.md
// For the files of this room.
#pragma once

#include <string>
#include <string_view>

#include "model/heap.h"

namespace clrscope::gcdump {

constexpr std::string_view kExtras = "clrscope 1\n";  // how it begins

std::string extras_of(const HeapSnapshot& heap);

// Into a heap that has its types and objects. Lines that make no sense are ignored.
void apply_extras(std::string_view text, HeapSnapshot& heap);

}  // namespace clrscope::gcdump
